"""Two texts are one only if nothing that matters differs: a merge that is wrong loses a decision silently."""

from __future__ import annotations

import pytest

from hikidashi.worker.sameness import Wording, find_same, same

LONG = " when the service starts, so that the first request after a deployment is answered within its deadline"

SAME = [
    ("Use pnpm for installing packages", "use pnpm for installing packages."),
    ("Run the tests before each commit", "Run the tests before each commit!"),
    ("Warm the cache" + LONG, "Warm the caches" + LONG),
    ("Always warm the cache" + LONG, "Always warm the cache" + LONG.replace("the first", "a first")),
    ("コミットの前にテストを実行する", "コミットの前にテストを実行する。"),
    ("提交之前运行测试", "提交之前运行测试。"),
    ("커밋 전에 테스트를 실행한다", "커밋 전에 테스트를 실행한다."),
    ("Tests vor jedem Commit ausführen", "tests vor jedem commit ausführen"),
]

DIFFERENT = [
    # a name
    ("Use npm for packages" + LONG, "Use pnpm for packages" + LONG),
    ("Use Redis" + LONG, "Use Valkey" + LONG),
    # a number, a version, a path, an identifier, a flag
    ("Retry 3 times" + LONG, "Retry 5 times" + LONG),
    ("Pin node 20.1" + LONG, "Pin node 20.2" + LONG),
    ("Keep src/a.ts" + LONG, "Keep src/b.ts" + LONG),
    ("Call warm_up" + LONG, "Call warm_upp" + LONG),
    ("Start with -v" + LONG, "Start with -V1" + LONG),
    # a negation, in ten languages
    ("Do warm the cache" + LONG, "Do not warm the cache" + LONG),
    ("We should warm the cache" + LONG, "We shouldn't warm the cache" + LONG),
    ("Wir wärmen den Cache" + LONG, "Wir wärmen nicht den Cache" + LONG),
    ("On chauffe le cache" + LONG, "On ne chauffe pas le cache" + LONG),
    ("Se calienta la cache" + LONG, "No se calienta la cache" + LONG),
    ("O cache é aquecido" + LONG, "O cache não é aquecido" + LONG),
    ("Si scalda la cache" + LONG, "Non si scalda la cache" + LONG),
    ("Греем кэш" + LONG, "Не греем кэш" + LONG),
    (
        "起動時にキャッシュを温めるので最初の要求にも期限までに必ず答えられるようにする",
        "起動時にキャッシュを温めないので最初の要求にも期限までに必ず答えられるようにする",
    ),
    (
        "启动时预热缓存以便部署之后的第一个请求能够在期限之内得到回答",
        "启动时不预热缓存以便部署之后的第一个请求能够在期限之内得到回答",
    ),
    (
        "시작할 때 캐시를 데운다 그래서 첫 요청도 제때 답한다 배포 뒤에도",
        "시작할 때 캐시를 안 데운다 그래서 첫 요청도 제때 답한다 배포 뒤에도",
    ),
    # the contrary
    ("Enable the cache" + LONG, "Disable the cache" + LONG),
    ("Always warm the cache" + LONG, "Never warm the cache" + LONG),
    ("Warm it before" + LONG, "Warm it after" + LONG),
    # something else
    ("Use tabs", "Use spaces"),
    ("データベースはMySQLにする", "データベースはPostgreSQLにする"),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_change_of_wording_alone_is_the_same(one: str, other: str) -> None:
    assert same(Wording.of(one), Wording.of(other))
    assert same(Wording.of(other), Wording.of(one))


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_what_differs_in_a_hard_word_is_not_the_same(one: str, other: str) -> None:
    assert not same(Wording.of(one), Wording.of(other))
    assert not same(Wording.of(other), Wording.of(one))


def test_the_most_similar_one_is_found_whatever_the_order() -> None:
    texts = {"b": "Warm the caches" + LONG, "a": "Warm the cache" + LONG, "c": "Use tabs"}
    wording = Wording.of("warm the cache" + LONG)
    forward = {key: Wording.of(text) for key, text in texts.items()}
    backward = dict(reversed(forward.items()))
    assert find_same(wording, forward) == find_same(wording, backward) == "a"
    assert find_same(wording, {}) is None
