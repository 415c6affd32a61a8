"""For tests of what talks to a model: a fake Messages API, in process and over HTTP."""
