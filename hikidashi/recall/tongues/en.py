"""How an inability is said in English. A blank in a pattern stands for blanks and emphasis, `{act}` for the act."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

_THE: Final = r"(?:(?:the|your|our|a|an|any|this|that|these|its|my|new|actual|prod|production|staging|live|remote) )*"
_NAME: Final = r"(?:[\w.@/-]+ )?"

#: Words are told apart by blanks.
CHUNKS: Final = False

#: What an act is called, behind what it cannot be said without: verbs in the form behind "cannot", and nouns.
ACTS: Final = {
    "connect-db": (
        ("database", "db", "postgres", "mysql", "maria", "mongo", "redis", "sqlite", "migration", "sql", "quer"),
        r"(?:(?:connect(?:ing)?|get(?:ting)?|log(?:ging)?) (?:in )?(?:on )?(?:in)?to|access(?:ing)?|reach(?:ing)?"
        r"|query(?:ing)?"
        r"|access to|reading from|read from|look(?:ing)? (?:in|at)(?:to)?|connection to"
        rf"|inspect(?:ing)?) {_THE}{_NAME}(?:database|databases|db|postgres\w*|mysql|mariadb|mongo\w*"
        rf"|redis|sqlite)|(?:run|running|execute|executing|apply|applying) {_THE}{_NAME}(?:migrations?|sql|quer(?:y"
        r"|ies))"
        r"|database (?:access|connection)|db access",
    ),
    "connect-ssh": (
        ("ssh", "server", "host", "vm", "machine", "box", "instance", "vps"),
        r"ssh(?:ing)?(?: access)?(?: in)?(?:to)?(?: to)?|(?:(?:connect(?:ing)?|get(?:ting)?"
        r"|log(?:ging)?) (?:in )?(?:on )?(?:in)?to|get(?:ting)? on|access(?:ing)?"
        rf"|reach(?:ing)?|access to|connection to) {_THE}{_NAME}(?:server|servers|host|vm|machine|box|instance|vps)",
    ),
    "package": (
        ("packag", "wheel", "installer", "tarball", "sdist", "deb", "rpm", "apk", "ipa", "vsix"),
        rf"packag(?:e|ing)|(?:build|make|create|produce)(?:ing)? {_THE}{_NAME}(?:wheel|package|installer|tarball"
        r"|sdist|deb|rpm|apk|ipa|vsix)",
    ),
    "test": (
        ("test", "suite", "spec", "jest"),
        rf"(?:run|running|execute|executing|rerun|re-run|run through) {_THE}(?:full |whole |unit |integration |e2e "
        rf"|end-to-end |automated )*{_NAME}(?:tests?|test suite|suite|specs?|pytest|jest|vitest)"
        r"|test suite",
    ),
    "container": (
        ("docker", "container", "compose", "podman", "stack"),
        r"(?:run|running|start|starting|use|using|launch|spin up|bring up|build|building|access"
        rf"|accessing) {_THE}{_NAME}(?:docker\w*|containers?|compose|podman|stack)"
        r"|docker(?: access)?|containers?",
    ),
    "infra": (
        ("provision", "terraform", "plan", "infra", "pulumi", "tofu", "cluster", "vm", "cloud"),
        rf"provision(?:ing)?|(?:apply|applying|run|running) {_THE}{_NAME}(?:terraform|plan|infrastructure|infra"
        r"|pulumi|tofu)"
        rf"|(?:create|creating|spin up) {_THE}{_NAME}(?:cluster|vm|vms|cloud resources)|terraform",
    ),
    "deploy": (
        ("deploy", "ship", "roll", "live", "prod", "staging"),
        r"(?:re-?)?deploy(?:s|ed|ing|ment|ments)?|ship(?:ping)?(?: it| this| that)?|roll(?:ing)? (?:it "
        r"|this |that )?out"
        r"|rollout|go(?:ing)? live"
        r"|(?:put|putting|push|pushing|release|releasing|take|taking)(?: it| this| that| the [\w-]+)? (?:live|to prod"
        r"|to production|to staging)",
    ),
    "publish": (
        ("publish", "releas", "upload"),
        rf"publish(?:ed|ing)?|(?:cut|cutting|create|creating|make|making) {_THE}release|releas(?:e|ing)"
        r"|upload(?:ing)?(?: it| this| the [\w-]+)? to (?:pypi|npm)",
    ),
    "push": (
        ("push", " pr", "request"),
        rf"(?:git )?push(?:ed|ing|es)?|(?:open|opening|create|creating|raise|make|submit) {_THE}(?:pr|prs|pull request"
        r"|merge request)",
    ),
    "auth": (
        ("log", "sign", "authent"),
        r"log(?:ging)? (?:in|on|into)(?:to)?|sign(?:ing)? (?:in|into)(?:to)?|(?:re-?)?authenticat(?:e|ing|ion)|login",
    ),
    "build": (
        ("build", "compil"),
        r"(?:re-?)?build(?:s|ing)?|(?:re)?compil(?:e|ing|ation)",
    ),
}

_NOW: Final = (
    r"(?:(?:actually|currently|directly|really|personally|also|still|myself|physically|presently|unfortunately"
    r"|independently|automatically|properly|even|then|therefore) )*"
)

#: What may stand between an inability and its act: "(reach the server to) (run) (the) deploy".
FILL: Final = (
    r"(?: |(?:access|reach|connect to|log ?in to|log into|log in|sign in|use|open|get) (?:[\w.'/-]+ ){0,5}(?:to|and"
    r"|or) )?"
    r"(?:(?:do|run|perform|execute|start|trigger|make|carry out|complete|finish|kick off|initiate|handle|go ahead with"
    r"|proceed with|help(?: you)? with|help(?: you)?|continue with|doing|running|performing|carrying out|triggering"
    rf"|executing) {_THE}{_NAME}{_NAME})?{_THE}"
)
_MEANS: Final = (
    r"(?:credentials?|access|permissions?|api keys?|(?:access |api |auth |deploy )?tokens?|logins?|rights"
    r"|authori[sz]ation|(?:ssh |deploy |access )?keys?|passwords?|privileges|internet|network(?: connection)?|tools?"
    r"|tooling|cli|ability|capability|means|way|secrets?|account)"
)
_SOME: Final = (
    r"(?:(?:any|the|your|valid|necessary|required|right|proper|direct|needed|appropriate|sufficient|working|such"
    r"|actual|a|an|enough|configured) )*"
)
_I: Final = r"(?:(?<![\w'])(?:i|we)|\band)"
_HAVE: Final = (
    rf"(?:{_I} (?:(?:still|also|currently|simply|just) )*(?:do not|don't) (?:(?:currently|actually|presently) )*have"
    rf"|{_I} (?:(?:currently|still|also) )?(?:have|'ve|'ve got|have got) (?:no|neither)"
    rf"|{_I} (?:currently )?lack|i've (?:got )?no"
    r"|(?:this|the|my|our) (?:[\w-]+ )?(?:environment|sandbox|session|shell|machine|workspace|container|setup)"
    r" (?:(?:also|currently) )?(?:has no|doesn't have|does not have|lacks)"
    rf"|there (?:is no|are no|isn't|aren't|is not|are not)|{_I}(?:'m| am|'re| are) missing) {_SOME}"
)

#: An inability behind which its act stands.
HEADS: Final = (
    rf"{_I} (?:(?:also|currently|still|simply|unfortunately|really) )*(?:can't|cannot|can not) {_NOW}",
    rf"(?:{_I}(?:'m| am|'re| are)|{_I} (?:remain|seem to be|appear to be))"
    r" (?:(?:currently|still|also|simply|unfortunately|just) )*(?:unable|not able|not in a position|not allowed)"
    rf" to {_NOW}",
    rf"{_I} (?:won't|will not) be able to {_NOW}",
    rf"{_I}(?:'m| am) (?:incapable of|not capable of) ",
    r"(?:it is|it's|there is|there's) (?:currently )?(?:not possible|impossible|no way)(?: for me| for us)?"
    rf"(?: from here| here)? (?:to|of) {_NOW}",
    rf"{_I} (?:have|'ve|see) no (?:way|means|possibility|option|ability) (?:to|of|for) {_NOW}",
    r"\b(?:can't|cannot|can not) be (?=\w+[\s*_`~](?:from here|from this|from my|by me|in this))",
    r"^\s*(?:unfortunately,? |sorry,? |note: )?(?:unable to|cannot|can't) (?=[^.]*(?: from here| here$| from this"
    r"| in this| from the sandbox| from my| without (?:[\w.-]+ ){0,2}(?:credentials|access)))",
)

#: Likewise: means that are missing, with what they are for behind them.
LACKING: Final = (
    rf"{_HAVE}(?:[\w.'/-]+ ){{0,4}}?{_MEANS}(?:(?:,? (?:or|and|nor) |, )(?:the "
    rf"|any )?(?:[\w-]+ )?{_MEANS})*(?: [\w-]+){{0,3}}?"
    r" (?:needed to|required to|required for|needed for|to|for|of|that|which) (?:actually )?",
    rf"{_HAVE}(?:[\w.-]+ ){{0,2}}?(?=(?:[\w-]+ )?(?:access|connection)[\s*_`~])",
)

_ON: Final = r"(?: [\w.'/-]+){0,3} "
#: An inability in front of which its act stands.
TAILS: Final = (
    rf"{_ON}(?:isn't|is not|is currently not) (?:something (?:that )?i (?:can|am able)"
    r"|possible (?:for me|from here|in this|from this|from within|here)|available to me|within my)",
    rf"{_ON}(?:can't|cannot|can not) be (?:done|run|performed|executed|triggered|carried out|completed)(?: [\w-]+)?"
    r" (?:from here|here|from (?:this|my|within)|by me|in this)",
    rf"{_ON}is (?:something|not something) (?:that )?i (?:can't|cannot|am not able to|am unable to)",
    rf"{_ON}is (?:beyond|outside)(?: of)? (?:what i can|my (?:abilities|capabilities|reach))",
    rf"{_ON}(?:requires|needs|would need|would require) (?:[\w.'/-]+ ){{0,4}}?{_MEANS},?(?: (?:that|which))? i"
    r" (?:(?:currently|simply) )?(?:don't have|do not have|lack|can't access)",
)

#: Means that are missing, without an act: "I have no credentials".
MEANS_MARKS: Final = (
    "credential",
    "access",
    "permission",
    "key",
    "token",
    "login",
    "rights",
    "authori",
    "password",
    "privilege",
    "internet",
    "network",
    "tool",
    "cli",
    "abilit",
    "capabilit",
    "means",
    "way",
    "secret",
    "account",
    "logged in",
    "signed in",
    "authent",
    "log in",
    "sign in",
    "reach",
    "connection",
)
MEANS: Final = (
    rf"{_HAVE}(?P<what>(?:[\w.'/-]+ ){{0,4}}?){_MEANS}(?! (?:issue|problem|error|change|conflict))"
    r"(?P<more>(?: (?:to|for|on|at|in) (?!(?:do|check|verify|see|tell|know)\b)[\w.'/-]+(?: [\w.'/-]+){0,2})?)",
    rf"{_I}(?:'m| am|'re| are) (?:(?:currently|still) )?(?:not|n't) (?:logged in|logged into|signed in|signed into"
    r"|authenticated|authori[sz]ed)(?P<more>(?: (?:to|into|with|on|for|at|against) [\w.'/-]+(?: [\w.'/-]+)?)?)",
    rf"no (?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS} (?:is|are) (?:currently )?(?:available|configured|set up|set"
    r"|present|installed)(?: (?:here|to me|in this|on this|for me))?",
    rf"(?P<what>(?:[\w.'/-]+ ){{0,2}}?){_MEANS} (?:aren't|are not|isn't|is not) (?:currently )?(?:available"
    r"|configured|set up"
    r"|present|accessible|provided)",
    rf"{_I} (?:can't|cannot|can not) {_NOW}(?:access|authenticate (?:to|with|against)|log ?in to|log into|sign in to"
    r"|reach)(?P<more> (?:the |your )?[\w.'/-]+(?: [\w.'/-]+)?)",
)

#: Hands the act over to the person.
HANDED: Final = (
    r"\b(?:yourself|yourselves|you(?:'ll| will|'d)? (?:need|have) to|please|you can|manually|your side"
    r"|your end|your (?:own )?(?:machine|terminal)|by you)\b"
)

#: Sentences are cut here into what is judged by itself.
CUTS: Final = (
    r";|:(?=\s)|\s[—–-]+\s|—|, (?:so|but|and so|however|therefore|which means|and therefore|hence|thus)\b"
    r"|\bso (?=i\b)|\bbut (?=i\b)|[()]"
)

#: Not a claim of who speaks, of now, or for want of a means: judged on the cut.
SILENT: Final = (
    r"\b(?:in (?:this|its|their|the)(?: current| present)? (?:state|form|shape)|good conscience|as-is|like this"
    r"|any (?:faster"
    r"|further|more|longer)|either way|localhost|dev server|127\.0"
    r"|(?<!help )(?<!help you )(?<!proceed )(?<!continue )(?<!ahead )with (?!my\b|the current|the available))\b",
    r"\b(?:if|unless|once|until|when|whenever|assuming|in case|suppose|supposing|imagine|would|could|might|may|should"
    r"|whether|till|before|after|as long as|as soon as|provided|otherwise)\b(?! (?:me\b|i'm\b))",
    r"\b(?:earlier|previously|yesterday|ago|at first|initially|last (?:time|week|month|session)|back then|used to"
    r"|no longer true|was|were|had been)\b",
    r"\b(?:yet|again|twice|anymore in|concurrently|in parallel|simultaneously|overnight)\b(?! (?:another|i ))",
    r"\b(?:your|explicit|user'?s?|human) (?:explicit )?(?:approval|permission|confirmation|go-ahead|ok|okay|consent"
    r"|sign-?off|say|decision|review|instruction)|\bwithout (?:(?:that|this|an?|the"
    r"|further) (?:confirmation|approval|go-ahead|ok|yes|review)|approval|asking|confirmation|review"
    r"|being asked"
    r"|a review|reviewing|tests|testing|breaking|risking|running|first|you (?:confirm|say|approv))\w*",
    r"\b(?:not that|doesn't mean|does not mean|it's not true|isn't true|not true|wrong to say|don't (?:claim|say|tell"
    r"|assume)|nothing|no reason|why|pretend|claim(?:s|ed|ing)?|said|says|say|told|wrote|reads|according to|error"
    r"|message)\b",
    r"\b(?:can't|cannot|can not) (?:recommend|tell|see|say|confirm|guarantee|promise|find|reproduce|explain|wait"
    r"|stress|overstate|imagine|help but|emphasi[sz]e|justify|advise|suggest|remember|recall|verify whether)\b",
    r"\b(?:you|they|users?|he|she|people|customers?|contributors?|ci|the (?:pipeline|runner|workflow|job|bot|client"
    r"|user|customer|app|api|script|function|class)|everyone|nobody|anyone|who|colleagues?) (?:\w+ ){0,2}?(?:can't"
    r"|cannot|can not|(?:is|are) unable|do(?:es)?n't have|do(?:es)? not have|ha(?:s|ve) no)\b",
    r"\b(?:protected|force|--force|friday|freeze|frozen|policy|rule|rules|forbidden|not supposed|asked me not"
    r"|told me not|read-only mode|plan mode)\b",
)

#: What says that it is a want of means: with it a reason is one that the record speaks to.
LACK: Final = (
    r"credential|access|token|\bkeys?\b|log(?:ged)? ?in|sign(?:ed)? in|auth|permission|sandbox|environment|network"
    r"|internet|\btools?\b|\bcli\b|installed|from here|session"
    r"|abilit|capabil|account|don't have|do not have|have no|has no|not configured|not available|interactive|browser"
    r"|privilege|password|secret|human|manual|yourself|locally|on my|as an ai"
)

#: What leads a reason in.
BECAUSE: Final = (
    r"\b(?:because|since|as (?:the|there|it|this|we|your|our|all|main|ci|of)|due to|given that|so (?:i|we)\b"
    r"|therefore|which means|hence|thus)|(?:can't|cannot|unable)[^.]*(?::| [—–-] |—)"
)

#: What lies in the work itself, in this sentence or the one before it.
STATE: Final = (
    r"\b(?:fail(?:s|ed|ing|ures?)?|broken|breaks|conflicts?|rejected|errors?|timed? out|timeout|crash\w*|uncommitted"
    r"|dirty|outage|\bred\b|doesn't compile|does not compile|already exists|out of (?:disk|memory|date)|behind"
    r"|non-fast-forward|exited)\b"
)

#: It was done after all: judged on the whole message.
DONE: Final = (
    r"\b(?:i|we)(?:'ve| have)? (?:(?:already|now|just|successfully|then|also) )*(?:{done})\b(?! (?:to"
    r"|in) (?:the )?(?:commit|branch)\b)",
    r"\b(?:is|was|has been|been|are|were) (?:(?:now|already|successfully|fully) )*(?:{done})\b(?! (?:yesterday|last"
    r"|in march))",
)
DONE_WORDS: Final = {
    "deploy": r"deployed|redeployed|shipped|rolled out|live",
    "publish": r"published|released",
    "push": r"pushed",
    "auth": r"logged in|signed in|authenticated",
    "build": r"built|rebuilt|compiled",
    "package": r"packaged",
    "test": r"tested|ran the tests|ran all tests",
    "connect-db": r"connected|migrated|queried",
    "connect-ssh": r"connected",
    "container": r"started",
    "infra": r"provisioned|applied",
}

#: Behind an act, what names no target of it.
STOP: Final = (
    r"[,.!]|\b(?:from|in|inside|within|without|because|since|as|though|although|here|due|given|at|via|by|using"
    r"|with|yet|so|and|but|right now|myself|directly|unless|while|until|on (?:this|my|your|behalf))\b"
)

#: Joins another act to the one claimed.
AND: Final = r"(?:,? (?:or|and|nor) |/|, )"

#: Words around an act that name no target.
GENERIC: Final = """
a able about access account actual actually afraid all allowed also although am an and any anything anywhere api app
appear application arent artifact as at automated automatically aws-less be behalf beyond branch build bundle by can
cannot cant capable change changed changes cli cloud code commit commits configured container containers credential
credentials current currently database db deploy deployment deployments direct directly do docker doesnt dont e2e
either end environment even ever everything execute feature files fix for from full hand has have here his host i
image impossible in incapable infrastructure instance integration internet into is isnt it its itself job just key
keys lack lacks latest let lets local login machine make manually me means migrations missing my myself necessary need
needed needs neither network new no none nor not note now of on one ones option or our out outside own package page
perform permission permissions personally physically pipeline plan platform position possible pr project pull push
query really registry release releases remain remote repo repository request required requires result right run
sandbox script see seem server servers service session shell side since site so something sorry sql ssh stack start
step still suite system test tests that the them then there these they thing things this those though through to today
token tool tools trigger unable unfortunately unit update updates us user using valid version via way ways we web
website which who whole will with within without wont work workspace yet you your yourself yourselves ability
abilities capability capabilities rights authorization authorisation privileges password passwords secret secrets
tooling logins hosts codebase
"""
