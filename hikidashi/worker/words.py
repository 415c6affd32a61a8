"""Word lists of the rules engine, per language: negations, words that turn a meaning round, function words."""

from __future__ import annotations

from typing import Final

__all__ = ["CHOICE_WORDS", "FUNCTION_WORDS", "NEGATIONS", "POLAR_WORDS"]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Words that negate: English, German, French, Spanish, Portuguese, Italian, Russian. Japanese, Chinese and Korean
#: ones are parts of words and stand in `sameness`.
NEGATIONS: Final = _words(
    "no not never none nothing without cannot nor neither don't doesn't didn't won't can't shouldn't mustn't isn't"
    " nicht nie niemals kein keine keinen keinem keiner keines nichts ohne weder"
    " ne pas jamais aucun aucune rien sans n'est plus"
    " nunca jamás ningún ninguna ninguno nada sin tampoco"
    " não nenhum nenhuma sem"
    " non mai nessun nessuna niente senza"
    " не нет никогда никакой ничего без ни нельзя"
)

#: Words that say the contrary of one another; never to be taken for a change of wording.
POLAR_WORDS: Final = _words(
    "always only must may should all any some every except before after above below more less min max minimum maximum"
    " first last on off true false yes enable disable enabled disabled allow deny forbid add remove keep drop"
    " allowed denied forbidden include exclude local remote public private read write up down in out left right"
    " immer nur vor nach alle mehr weniger an aus ja nein erlaubt verboten"
    " toujours seulement avant après tous tout moins oui autorisé interdit"
    " siempre sólo solo antes después todos todo más menos sí permitido prohibido"
    " sempre apenas depois mais sim permitido proibido"
    " prima dopo tutti più meno"
    " всегда только до после все больше меньше да нет разрешено запрещено"
)

#: Words without content of their own: they may differ between two texts that say the same.
FUNCTION_WORDS: Final = _words(
    "a an the this that these those it its we i you they our your their us them to of for from by with at as is are be"
    " was were will would shall can could do does did and or so then also now just here there please let's lets let"
    " der die das den dem des ein eine einen einem einer wir ich du sie es und oder für von mit zu zum zur im am bei"
    " ist sind wird werden soll sollen bitte auch jetzt"
    " le la les un une des du de d l nous je tu vous il elle on et ou pour par avec à au aux dans en est sont sera"
    " el los las unos unas del al nosotros yo tú y o para por con en es son será lo se"
    " os as um uma do da dos das no na nos nas nós eu e ou com em é são ao"
    " il gli i uno di dal dalla nel nella noi io lui per con è sono"
    " и в на с для из к по мы я ты он она это этот эта что как"
    " です ます する した して から まで"
)

#: Words of choosing: they say that something is chosen, not what.
CHOICE_WORDS: Final = _words(
    "use uses using used adopt adopts choose chose pick prefer go switch move migrate take stay stick keep with to"
    " decide decided decision should will must always default standardise standardize run"
    " verwende verwenden nutze nutzen benutze benutzen nehmen nimm wähle wählen setze setzen einsetzen auf"
    " utilise utiliser utilisons utilisez choisir adopter adoptons prendre employer"
    " usa usar usamos usemos utilizar utilizamos elegir adoptar usando"
    " use usaremos adotar escolher utilize"
    " usare usiamo adottare scegliere"
    " использовать используем использую выбрать берём взять"
    " 使う 使用 使用する 採用 採用する 利用 利用する 使います 用 采用 选择 選ぶ 使"
    " 사용 사용한다 사용하자 사용합니다 쓰자 쓴다 써요 채택"
)
