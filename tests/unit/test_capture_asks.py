"""What a prompt is, and the title that it gives."""

from __future__ import annotations

import pytest

from hikidashi.capture.asks import ask_kind, ask_title

KINDS = [
    ("Add a retry to the upload client and cover it with tests", "ask"),
    ("can you please rename the billing module to payments?", "ask"),
    ("The login page keeps crashing when the session cookie is missing", "ask"),
    ("Añade paginación al listado de pedidos del panel", "ask"),
    ("Ajoute une pagination à la liste des commandes", "ask"),
    ("Füge der Bestellliste eine Seitennavigation hinzu", "ask"),
    ("adicione paginação na lista de pedidos do painel", "ask"),
    ("注文一覧にページネーションを追加してください", "ask"),
    ("为订单列表添加分页功能并补充测试", "ask"),
    ("주문 목록에 페이지네이션을 추가하고 테스트도 작성해줘", "ask"),
    ("Добавь постраничную навигацию в список заказов", "ask"),
    ("yes", "answer"),
    ("ok, go ahead", "answer"),
    ("continue", "answer"),
    ("はい お願いします", "answer"),
    ("where is the pagination helper defined?", "question"),
    ("what does this function return", "question"),
    ("¿cómo funciona la paginación de pedidos?", "question"),
    ("do 1 and 2", "answer"),
    ("commit and push", "weak"),
    ("I was mistaken, that is fine as it was before", "weak"),
    ("hang on, I will get you the raw log file", "weak"),
    ("npx -y some-installer@latest install thing", "command"),
    ("git pull && systemctl restart app", "command"),
    ("/review the last commit", "command"),
    ("# Stop the app\nsudo systemctl stop app\ncd /srv/app\ngit pull\nsudo systemctl start app", "command"),
    ('{"level":"error","msg":"boom"}', "paste"),
    ("Traceback (most recent call last):\n  File \"x.py\", line 1\nValueError: no", "paste"),
    ("Implement the following plan:\n\n# Split the billing module\n\nSteps", "plan"),
    ("", "none"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "kind"), KINDS)
def test_a_prompt_is_told_by_form_and_by_words(text: str, kind: str) -> None:
    assert ask_kind(text) == kind


@pytest.mark.parametrize(("text", "title"), [
    ("can you please add a retry to the upload client?", "Add a retry to the upload client"),
    ("I'd like to split the billing module into two packages. It is too large.",
     "Split the billing module into two packages"),
    ("Implement the following plan:\n\n# Move sessions to Redis\n\n## Context\nSlow.", "Move sessions to Redis"),
    ("Orders per customer\nand refunds per customer\nare empty but the table has rows",
     "Orders per customer and refunds per customer are empty but the table has rows"),
    ("ok, great. now add pagination to the order list", "Add pagination to the order list"),
    ("# TICKET 12 — Aggregate rows before export\n\nContext …", "TICKET 12 — Aggregate rows before export"),
])  # fmt: skip
def test_a_title_is_one_line_without_politeness(text: str, title: str) -> None:
    assert ask_title(text) == title


def test_a_title_is_never_longer_than_asked_for() -> None:
    assert len(ask_title("fix " + "word " * 500)) <= 120
