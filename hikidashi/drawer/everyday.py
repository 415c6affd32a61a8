"""Words that stand in prompts of every kind, so that they find nothing by themselves. Standard library only.

Folded as `drawer.terms.fold` does: small letters, no accents. In English, German, French, Spanish and Portuguese;
Chinese, Japanese and Korean have their own lists, since there a word is a part of a chunk.
"""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

__all__ = ["ENDINGS_KO", "GENERIC", "GENERIC_CJK", "SINGLE_CJK", "SPLIT_ZH", "STOP"]


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


#: Never asked for and never a name. Words that name things in another of the languages (`car`, `plan`, `test`,
#: `host`) are left out.
STOP: Final = frozenset(
    _words("""
    a an the this that these those some any each every all both no not nor none never dont doesnt didnt cant cannot
    wont isnt arent wasnt werent shouldnt wouldnt couldnt havent hasnt hadnt mustnt neednt aint and or but if then
    else than so as of at by for from in into on onto off out over under up down to with without within about after
    before between through during against via per again further once here there where when why how what which who
    whom whose while because until am is are was were be been being have has had having do does did doing done will
    would shall should can could may might must im ive id ill youre youve youd youll hes shes its weve wed theyre
    theyve theyll theres thats whats lets let it he she we you they i me him her us them my your his our their mine
    yours ours theirs myself yourself itself ourselves themselves also just only very too much many more most less
    least few other another such same own now yet still already always ever often sometimes maybe perhaps please pls
    plz thanks thank hi hello hey ok okay yes yeah yep nope well really actually basically simply quite rather even
    though although however whether either neither like want wants wanted need needs needed use uses used using get
    gets got getting give gives gave given gonna wanna etc eg ie vs thing things something anything nothing
    everything someone anyone everyone way ways kind sort lot bit one ones first last next

    der die das den dem des ein eine einen einem einer eines kein keine keinen keiner nicht nie und oder aber wenn
    dann als wie auch nur noch schon mal doch ja nein bitte danke ich du er sie es wir ihr mich dich sich uns euch
    mir dir ihm ihnen mein meine meinen dein deine unser unsere sein seine ihre ist sind war waren bin bist seid
    wird werden wurde wurden hat habe haben hatte hatten kann kannst konnen konnte muss mussen musste soll sollte
    sollen wollen mochte darf durfen zu zum zur von vom auf aus bei mit nach fur uber unter vor hinter zwischen
    durch ohne gegen um bis dass daß damit weil ob wer wo wann warum welche welcher welches dieser diese dieses
    diesen jetzt hier dort da immer alle alles etwas nichts viel mehr sehr ganz gerade eben wieder einmal gibt geht

    le la les un une de d l et ou mais si donc car que qui quoi ne pas plus jamais rien tout toute tous toutes je tu
    il elle nous vous ils elles te se moi toi lui leur mon ma mes ton ta tes son sa ses notre nos votre vos leurs ce
    cet cette ces ca cela ceci est sont suis sommes etes etait etaient etre ete ai avons avez ont avoir avait fait
    faire peux peut pouvez peuvent veux veut voulez dois doit devez faut avec sans sous sur dans par pour vers chez
    entre en au aux y comme quand comment pourquoi ici aussi encore deja tres bien merci svp stp oui non alors puis
    apres avant quel quelle quels quelles

    el los las una unos unas al del lo o u pero ni quien cual cuales cuando donde como porque para por con sin sobre
    hasta desde hacia mi mis tus su sus nuestro nuestra yo ella ellos ellas nosotros usted ustedes os era eran fue
    fueron ser estar esta estan estoy estamos hay ha han hemos haber tiene tienen tengo tener puede puedes pueden
    podemos quiero quieres quiere debe debes deben este ese esa esos esas esto eso estos estas aqui ahi alli ahora
    ya tambien solo muy mas menos todo toda todos todas algo nada nunca siempre favor gracias hola hacer haz hace
    hacerlo

    uma umas ao aos dos na nas num numa pelo pela pelos pelas e nao nem com sem sob ate meu minha meus minhas seu
    sua seus suas teu tua nosso nossa eu ele eles ela elas voce voces isso isto aquilo esse essa esses essas aquele
    aquela foi foram sao sou estao estou tem temos tenho ter pode podem quero quer queremos deve devem agora ainda
    tambem muito tudo sempre obrigado obrigada oi ola fazer faz faca
    """)
)

#: Words of many prompts. A name made of one of them alone counts little, and so does meeting one in a body.
GENERIC: Final = frozenset(
    _words("""
    add adds added adding fix fixes fixed fixing change changes changed changing update updates updated updating
    make makes made making create creates created creating write writes wrote written writing remove removes removed
    removing delete deletes deleted deleting edit edits edited editing check checks checked checking look looks
    looked looking see show shows shown showing find finds found finding try tries tried trying run runs ran running
    start starts started starting stop stops stopped stopping set sets setting put puts move moves moved moving
    rename renamed open opens opened close closes closed read reads reading call calls called calling go goes going
    went come comes keep keeps kept take takes took help helps tell say says said ask asks asked know knows think
    explain describe review implement implements implemented implementing refactor refactored refactoring improve
    improved improving handle handles handled work works worked working happen happens happened seem seems return
    returns returned

    file files folder folders directory code line lines function functions method methods class classes module
    modules variable variables value values type types name names list string number object data text message
    messages page pages part parts place case cases example examples issue issues problem problems error errors bug
    bugs thing task tasks step steps todo question answer idea reason result results output input option options
    feature features project app apps application web site website repo repository system tool tools library user
    users good bad better best right wrong new old big small simple easy hard long short current different possible
    available able sure correct main default real full empty whole top bottom left slow slower fast faster quick
    py md txt

    api ui ux dev server client data user users admin service services log logs format session sessions config
    configuration setting settings field fields item items event events request requests response responses component
    components button form screen model models version versions view views query

    rule rules decision decisions fact facts note notes memory memories procedure procedures capability capabilities
    remember reminder

    mach mache machen macht schau schreib schreibe schreiben prufe prufen andere andern fuge hinzufugen entferne
    losche loschen zeig zeige zeigen erklare datei dateien ordner zeile fehler aufgabe neu neue neuen gut richtig

    ajoute ajouter ajoutez changer corrige corriger ecris ecrire cree creer supprime supprimer montre montrer
    verifie verifier regarde regarder explique expliquer fichier fichiers dossier ligne erreur probleme tache
    nouveau nouvelle bon lance lancer

    agrega agregar anade anadir cambia cambiar arregla arreglar corregir escribe escribir crea crear borra borrar
    elimina eliminar muestra mostrar revisa revisar mira explica explicar archivo archivos carpeta linea problema
    tarea nuevo nueva bueno ejecuta ejecutar

    adiciona adicionar muda mudar conserta consertar corrigir escreve escrever cria criar remover apaga apagar
    mostra verifica verificar olha arquivo arquivos pasta linha erro tarefa novo nova bom executa executar roda
    rodar
    """)
)

#: The same in Chinese, Japanese and Korean: as a name of its own each counts little.
GENERIC_CJK: Final = frozenset(
    _words("""
    確認 修正 実行 作成 追加 変更 削除 更新 使用 表示 説明 調査 対応 実装 編集 改善 整理 開始 終了 問題 原因
    方法 内容 部分 場合 結果 機能 関数 画面 今回 現在 最初 最後 自分 全部 一部 必要
    可能 以下 以上 お願い ファイル コード エラー バグ メッセージ データ リスト プロジェクト アプリ ページ
    フォルダ ルール メモ

    检查 修改 运行 执行 创建 添加 删除 显示 解释 说明 查看 实现 编辑 改进 开始 停止 问题 情况 结果 功能 函数
    文件 代码 错误 项目 应用 页面 现在 一下 我们 你们 他们 这个 那个 这些 那些 什么
    怎么 如何 可以 需要 应该 已经 没有 所有 一个 一些 還有 还有 然后 或者 因为 所以 如果 但是 请问 檢查 執行
    創建 刪除 顯示 代碼 錯誤 項目 頁面 這個 那個 什麼 怎麼 規則 规则

    확인 수정 실행 작성 추가 변경 삭제 업데이트 사용 표시 설명 검토 구현 편집 개선 시작 중지 문제 원인 방법 내용
    부분 경우 결과 기능 함수 파일 코드 오류 에러 버그 프로젝트 페이지 지금 현재 우리
    이것 그것 저것 무엇 어떻게 규칙
    """)
)

#: Single Han characters that are half of every sentence.
SINGLE_CJK: Final = frozenset(
    "々〇一七三上下不与个中九也了事二五人今从他们会何作你使做入全八六内再出分到前十去可右各合吗吧呢和啊四"
    "在外多大她好它对小少"
    "就左年很後思您想我或所把新方日是時書月有来次没済点無物用的直看给者能行被要見言让说请还这那都際"
    ""
)

#: Chinese words without content, longest first: a chunk is cut there before its body is looked for.
SPLIT_ZH: Final = _words("""
    可不可以 为什么 是不是 能不能 请帮我 帮我们 麻烦你 一下子 請幫我 请帮 帮我 请问 麻烦 一下 一个 这个 那个
    这些 那些 这里 那里 我们 你们 他们 我的 你的 怎么 怎样 如何 什么
    哪个 哪里 可以 应该 需要 现在 然后 已经 所有 還有 還是 幫我 請問 這個 那個 這裡 我們 怎麼 什麼 現在 的 了 吗
    呢 吧 啊 请 請 把 我 你 您 这 那 這 很 嗎
""")

#: Korean endings and particles, longest first: a word is looked for without them.
ENDINGS_KO: Final = _words("""
    해주세요 해줄래요 했습니다 하십시오 해줘요 해주라 했어요 했는데 합니다 하세요 하려면 하려고 할까요 됩니다
    되나요 입니다 인가요 에서는 해줘 해봐 해라 해요 했어 했다 하면 하는
    하고 하기 하자 하지 할까 할게 한다 하다 되는 되면 된다 됐어 인지 이다 이야 에서 에게 에는 으로 부터 까지
    처럼 보다 이랑 라고 한 할 해 돼 을 를 은 는 이 가 에 로 와
    과 도 만 의 좀
""")
