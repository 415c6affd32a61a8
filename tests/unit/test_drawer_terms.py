"""Forms of one word meet, other words do not, and no text breaks the cutting."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hikidashi.drawer.inflection import roots_of_form, roots_of_infinitive, stem
from hikidashi.drawer.names import ALIAS, HEAD, PART, WORD, alias_names, key_names
from hikidashi.drawer.terms import fold, pairs, plain_tokens, runs, terms, tokens


@pytest.mark.parametrize(
    "forms",
    [
        "deploy deploys deployed deploying deployment deployments",
        "release releases released releasing",
        "ship ships shipped shipping",
        "push pushes pushed pushing",
        "make makes making",
        "cache caches cached caching",
        "query queries",
        "database databases",
        "log logs logged logging",
        "branch branches",
        "process processes processed",
        "manage managing management",
        "status statuses",
    ],
)
def test_forms_of_an_english_word_have_one_stem(forms: str) -> None:
    assert len({stem(word) for word in forms.split()}) == 1


@pytest.mark.parametrize(
    "words", ["string strip", "document dock", "need nest", "speed sped", "red read", "port report", "class clause"]
)
def test_other_words_keep_apart(words: str) -> None:
    one, other = words.split()
    assert stem(one) != stem(other)


@pytest.mark.parametrize(
    ("infinitive", "forms"),
    [
        ("déployer", "déploie déployez déployons déployé déployée déploient"),
        ("pousser", "pousse poussez"),
        ("construire", "construis construit construisez"),
        ("appeler", "appelle appelez"),
        ("desplegar", "despliega despliegue despliégalo desplegando desplegado"),
        ("probar", "prueba pruebe probando"),
        ("construir", "construye construido"),
        ("publicar", "publica publique publicado"),
        ("implantar", "implanta implante implantando"),
        ("deployen", "deploye deployt deployte gedeployt"),
        ("bauen", "baue baut gebaut"),
        ("veröffentlichen", "veröffentliche veröffentlicht"),
        ("ausliefern", "ausliefert"),
    ],
)
def test_forms_of_a_verb_lead_to_its_infinitive(infinitive: str, forms: str) -> None:
    (root,) = roots_of_infinitive(fold(infinitive))
    for form in forms.split():
        assert root in roots_of_form(fold(form)), form


@pytest.mark.parametrize(
    ("infinitive", "other"),
    [("publicar", "public"), ("deployer", "deplorable"), ("testen", "testament"), ("bauen", "bauer")],
)
def test_other_words_are_no_forms_of_it(infinitive: str, other: str) -> None:
    assert not set(roots_of_infinitive(infinitive)) & set(roots_of_form(other))


@pytest.mark.parametrize("noun", ["docker", "server", "user", "container", "screen", "store"])
def test_an_english_noun_is_no_infinitive(noun: str) -> None:
    assert roots_of_infinitive(noun) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("pre-edit", ["pre", "edit"]),
        ("foo_bar.baz/qux", ["foo", "bar", "baz", "qux"]),
        ("preEdit", ["preedit", "pre", "edit"]),
        ("don't", ["dont"]),
        ("blyck's", ["blyck"]),
        ("l'application", ["application"]),
        ("v1.22.0 and 3.11", ["v1.22.0", "and", "3.11"]),
        ("C++ or C# or c", ["c++", "or", "c#", "or"]),
        ("ＡＢＣ　ﾃﾞﾌﾟﾛｲ", ["abc", "デプロイ"]),
        ("Déploie ÇA", ["deploi", "ca"]),
        ("blyckをデプロイ", ["blyck", "をデプロイ"]),
        ("배포해 줘", ["배포해", "줘"]),
        ("が", ["が"]),
        ("\ud800a\x00b\udfff lone ones", ["lone", "one"]),
        ("x" * 60, []),
        ("", []),
    ],
)
def test_a_text_is_cut_into_tokens(text: str, words: list[str]) -> None:
    assert [token.text for token in tokens(text)] == words


def test_camel_case_parts_are_searched_but_are_no_row_of_words() -> None:
    assert [token.text for token in plain_tokens("myRepoName")] == ["myreponam"]
    assert {"my", "repo", "name"} - terms("myRepoName") == {"my"}


@pytest.mark.parametrize(
    ("chunk", "parts"),
    [
        ("本番にデプロイして", ["本番", "に", "デプロイ", "して"]),
        ("请部署", ["请部署"]),
        ("배포해", ["배포해"]),
        ("ラーメン屋", ["ラーメン", "屋"]),
    ],
)
def test_a_chunk_is_cut_where_the_script_changes(chunk: str, parts: list[str]) -> None:
    assert [text for text, _, _ in runs(chunk)] == parts
    assert [chunk[at : at + len(text)] for text, at, _ in runs(chunk)] == parts


def test_pairs_of_one_character_are_that_character() -> None:
    assert pairs("鍵") == ["鍵"]
    assert pairs("秘密鍵") == ["秘密", "密鍵"]


def test_a_body_is_found_by_pairs_and_single_han_but_not_by_endings() -> None:
    assert terms("秘密鍵をください") == {"秘密", "密鍵", "秘", "密", "鍵"}


@given(st.text(alphabet=st.characters()))
def test_any_text_is_cut_and_every_term_can_be_stored(text: str) -> None:
    for token in tokens(text):
        assert token.text
        token.text.encode()
    assert all(term and not term.isspace() and "\x00" not in term and '"' not in term for term in terms(text))
    assert all(len(term.split()) == 1 for term in terms(text))


@pytest.mark.parametrize(
    ("key", "names"),
    [
        ("deploy:blyck", {"deploy": HEAD, "blyck": PART}),
        ("deploy:blyck-releases", {"deploy": HEAD, "blyck releas": PART, "blyck": WORD, "releas": WORD}),
        (
            "push:github.com/acme/web",
            {"push": HEAD, "github com": PART, "github acme web": PART, "acme": PART, "github": WORD, "web": WORD},
        ),
        ("rule:no-prod", {"rule": WORD, "no prod": HEAD, "prod": WORD}),
        ("デプロイ:顧客管理サーバー", {"デプロイ": HEAD, "顧客管理サーバ": PART}),
        ("decision:port", {"decision": WORD, "port": HEAD}),
        ("pre-edit", {"pre edit": HEAD, "pre": WORD}),
        ("release checklist", {"releas checklist": HEAD, "releas": WORD, "checklist": WORD}),
        ("it", {}),
    ],
)
def test_the_names_of_a_key(key: str, names: dict[str, int]) -> None:
    assert key_names(key) == names


@pytest.mark.parametrize(
    ("alias", "names"),
    [
        ("デプロイ", {"デプロイ": ALIAS}),
        ("ship it", {"ship it": ALIAS}),
        ("put it live", {"put live": ALIAS}),
        ("log in to", {"log in to": ALIAS}),
        ("push the branch", {"push branch": ALIAS}),
        ("desplegar", {"desplegar": ALIAS, "~1despleg": ALIAS}),
        ("GitHubに上げ", {"github に上げ": ALIAS}),
        ("run", {"run": WORD}),
        ("確認", {"確認": WORD}),
        ("the", {}),
        ("it is what it is", {}),
        ("して", {}),
        ("!?", {}),
        ("\ud800", {}),
    ],
)
def test_the_names_of_an_alias(alias: str, names: dict[str, int]) -> None:
    assert alias_names([alias]) == names
