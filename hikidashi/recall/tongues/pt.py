"""How an inability is said in Portuguese. A blank in a pattern stands for blanks and emphasis."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

#: Words are told apart by blanks.
CHUNKS: Final = False

_THE: Final = (
    r"(?:(?:o|a|os|as|um|uma|este|esta|esse|essa|seu|sua|seus|suas|nosso|nossa|meu|novo|nova|do|da|dos|das"
    r"|de|ao|à|aos|às|no|na|nos|nas|em|para|pro|todos|todas) )*"
)
_NAME: Final = r"(?:[\w.@/-]+ )?"
_RUN: Final = r"(?:rodar|executar|correr|passar|fazer|realizar)"

ACTS: Final = {
    "connect-db": (
        ("banco", "base de dados", "bd", "db", "sql", "query", "quer", "migra", "consulta"),
        r"(?:(?:me )?conectar(?:-me)?|acessar|aceder|consultar|ligar|acesso|conexão"
        rf"|ler)(?: diretamente)? {_THE}{_NAME}(?:bancos?(?: de dados)?|bases? de dados|bd|db|postgres\w*|mysql)"
        rf"|{_RUN} {_THE}(?:migrações|migrations|query|queries|consultas?|sql)",
    ),
    "connect-ssh": (
        ("ssh", "servidor", "host", "máquina"),
        r"(?:(?:me )?conectar(?:-me)?|acessar|aceder|entrar|acesso|conexão)(?: diretamente| por ssh| via ssh"
        rf"| ssh)? {_THE}{_NAME}(?:servidor|servidores|host|máquina)(?: remot[oa])?|(?:por |via )?ssh",
    ),
    "package": (
        ("empacot", "pacote", "instalador"),
        rf"empacotar|(?:criar|gerar|construir) {_THE}(?:pacote|instalador)",
    ),
    "test": (("test", "suíte"), rf"{_RUN} {_THE}(?:suíte de )?test(?:es?|s)|{_THE}testes"),
    "container": (
        ("container", "contêiner", "docker"),
        rf"(?:subir|iniciar|usar|executar|rodar) {_THE}(?:containers?|contêiner(?:es)?|docker)|docker",
    ),
    "infra": (
        ("provision", "infraestrutura", "terraform", "cluster"),
        r"provisionar|(?:aplicar|executar|rodar) {_THE}terraform|terraform|criar o cluster|infraestrutura".replace(
            "{_THE}", "(?:o )?"
        ),
    ),
    "deploy": (
        ("implanta", "deploy", "produção", "producao", "no ar"),
        rf"(?:re)?implantar|(?:re)?implantação|(?:fazer |dar |realizar )?{_THE}deploy|deployar|(?:colocar|subir|pôr"
        rf"|publicar)(?: [\w-]+){{0,3}} (?:em produção|para produção|pra produção|no ar)",
    ),
    "publish": (
        ("public", "release", "versão"),
        rf"publicar|publicação|(?:fazer|criar|lançar) {_THE}(?:release|versão)",
    ),
    "push": (
        ("push", "subir", "enviar", "pr", "pull"),
        rf"(?:fazer |dar )?{_THE}(?:git )?push|pushar|(?:subir|enviar) {_THE}(?:branch|alterações|mudanças|commits?)"
        rf"|(?:abrir|criar) {_THE}(?:pr|pull request)",
    ),
    "auth": (
        ("login", "autentic", "logar", "sessão"),
        r"fazer login|me autenticar|autenticar(?:-me)?|autenticação|logar|iniciar sessão",
    ),
    "build": (
        ("compil", "build", "constru"),
        (
            rf"compilar|compilação|(?:fazer |rodar |gerar )?{_THE}build|buildar|construir {_THE}(?:projeto"
            r"|imagem|aplicação|bundle)"
        ),
    ),
}

_NOW: Final = (
    r"(?:(?:atualmente|diretamente|realmente|pessoalmente|também|agora|eu mesmo|daqui|no momento"
    r"|por conta própria) )*"
)
FILL: Final = (
    r"(?: |(?:acessar|me conectar|entrar|usar|fazer login) (?:[\w.'/-]+ ){0,5}(?:para|e|nem) )?"
    r"(?:(?:fazer|executar|realizar|rodar|concluir|completar|iniciar|efetuar|finalizar|continuar com|ajudar com"
    r"|disparar)"
    rf" {_THE}{_NAME}{_NAME})?{_THE}"
)
_MEANS: Final = (
    r"(?:credencia(?:l|is)|acessos?|permiss(?:ão|ões)|tokens?|chaves?|sessão|ferramentas?|conexão(?: de rede)?|rede"
    r"|conta|senhas?|autorização|meios|privilégios|capacidade|como|forma|maneira|possibilidade)"
)
_SOME: Final = r"(?:(?:as|os|a|o|nenhuma?|suficientes?|válid[oa]s|necessári[oa]s|suas|seus|configurad[oa]s|de|a) )*"
_HAVE: Final = (
    r"(?:\b(?:não|nao) (?:tenho|temos|disponho de|dispomos de|possuo|conto com)|\b(?:me |nos )?falt(?:am|a)(?:-me)?"
    r"|(?:este|o|meu) (?:ambiente|sandbox|contêiner|container) não (?:tem|possui|dispõe de)|\bnão (?:há|existem"
    r"|existe))"
    rf" {_NOW}{_SOME}"
)

HEADS: Final = (
    rf"\b(?:não|nao) (?:posso|consigo|podemos|conseguimos|poderei|conseguirei) {_NOW}",
    rf"\bnão (?:sou|somos) capaz(?:es)? de {_NOW}",
    rf"\b(?:sou|estou) (?:incapaz|impossibilitad[oa]|impedid[oa]) de {_NOW}",
    rf"\bnão (?:me )?é possível (?:para mim )?{_NOW}",
    rf"\b(?:me )?é impossível (?:para mim )?{_NOW}",
    rf"\bnão (?:tenho|temos|há) como {_NOW}",
)

#: Likewise: means that are missing, with what they are for behind them.
LACKING: Final = (
    rf"{_HAVE}(?:[\w.'/-]+ ){{0,3}}?{_MEANS}(?:(?: nem|,| ou| e) (?:[\w-]+ )?{_MEANS})*(?: [\w-]+){{0,3}}? (?:para"
    r"|de) ",
    rf"{_HAVE}(?:[\w.-]+ ){{0,2}}?(?=(?:acesso|conexão)[\s*_`~])",
)
_ON: Final = r"(?: [\w.'/-]+){0,3} "
TAILS: Final = (
    rf"{_ON}(?:fica|está|é) fora do meu alcance",
    rf"{_ON}não é (?:algo que eu (?:possa|consiga)|possível (?:para mim|daqui|neste|a partir))",
    rf"{_ON}(?:requer|exige|precisa de) (?:[\w.'/-]+ ){{0,4}}?{_MEANS} que (?:eu )?não tenho",
)
MEANS_MARKS: Final = (
    "credencia",
    "acesso",
    "permiss",
    "token",
    "chave",
    "sessão",
    "ferramenta",
    "conexão",
    "rede",
    "conta",
    "senha",
    "autoriz",
    "autentic",
    "meios",
    "privilégio",
    "capacidade",
    "como",
    "forma",
    "maneira",
    "possibilidade",
    "logad",
)
MEANS: Final = (
    rf"{_HAVE}(?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS}(?P<more>(?: (?:de|da|do|a|à|ao|para|no|na) (?!este|neste"
    rf"|ambiente|aqui)[\w.'/-]+(?: [\w.'/-]+){{0,2}})?)",
    r"\bnão (?:estou|estamos) (?:autenticad[oa]|logad[oa]|autorizad[oa])s?(?P<more>(?: (?:no|na|em|com"
    r"|ao) [\w.'/-]+(?: [\w.'/-]+)?)?)",
)

#: Hands the act over to the person.
HANDED: Final = (
    r"\b(?:você mesmo|você (?:terá|precisa|deve)|terá que|precisará|por favor|manualmente|na sua máquina|do seu lado)\b"
)

CUTS: Final = r";|:(?=\s)|\s[—–-]+\s|—|, (?:então|portanto|por isso|mas)\b|\bmas\b|[()]"

SILENT: Final = (
    r"\b(?:se|quando|até|a menos|caso|desde que|poderia|talvez|uma vez|enquanto|antes|depois|assim que|imagine"
    r"|exceto)\b",
    r"\b(?:no início|no começo|ontem|anteriormente|inicialmente|da última vez|na última|há (?:um|dois|alguns)|pude"
    r"|podia|consegui|conseguia|tinha|era|foi|foram)\b",
    r"\bsem (?:a |o )?(?:sua|seu|tua|teu|uma|um)? ?(?:aprovação|confirmação|permissão|autorização|ok|revisão|aval"
    r"|perguntar|testes|consultar)|\b(?:sua|seu|tua) (?:aprovação|confirmação|permissão|autorização|aval|ok)\b",
    r"\b(?:diz|dizem|mensagem|segundo|disse|erro|texto|não é que|não significa|não é verdade|não quer dizer|nada"
    r"|pergunta)\b",
    r"\b(?:usuários?|colaborador\w*|clientes?|ci|pipeline|runner|pessoas|alguém|ninguém|quem|equipe|aplicação|script"
    r"|você|eles|elas?|ele) (?:\w+ ){0,3}?não (?:pode|podem|consegue|conseguem|tem|têm)\b",
    r"\b(?:ainda|duas vezes|ao mesmo tempo|de novo|novamente|regras?|política|sexta\w*|congelad\w*|protegida|forçar"
    r"|proibid\w*|modo de plano|recomendar)\b",
)
LACK: Final = (
    r"credencia|acesso|token|chave|logad|login|autentic|permiss|sandbox|ambiente|rede\b|internet|ferramenta|conta\b"
    r"|daqui|aqui|não tenho|senha|manual|você mesmo|sua máquina|local|instalad|sessão|capacidade"
)
BECAUSE: Final = (
    r"\b(?:porque|pois|já que|uma vez que|devido a|dado que|por isso|portanto|então)\b|(?:não posso"
    r"|não consigo|não é possível)[^.]*(?::| [—–-] |—)"
)
STATE: Final = r"\b(?:falh\w+|quebrad[oa]s?|conflitos?|rejeitad\w+|erros|expirad\w*|timeout|fora do ar|não compila)\b"
DONE: Final = (
    r"\b(?:já |agora )?(?:foi|foram|está|estão) (?:já |agora )?(?:{done})\b",
    r"\b(?:eu )?(?:fiz|dei|realizei|concluí) (?:o |a )?(?:{done})\b",
)
DONE_WORDS: Final = {
    "deploy": r"implantad[oa]s?|no ar|em produção|deploy",
    "publish": r"publicad[oa]s?|publicação",
    "push": r"enviad[oa]s?|push",
    "auth": r"logad[oa]|autenticad[oa]|login",
    "build": r"compilad[oa]|build",
    "package": r"empacotad[oa]",
    "test": r"testad[oa]s?",
    "connect-db": r"conectad[oa]|consultad[oa]",
    "connect-ssh": r"conectad[oa]",
    "container": r"iniciad[oa]s?",
    "infra": r"aplicad[oa]|provisionad[oa]",
}
#: Behind an act, what names no target of it.
STOP: Final = (
    r"[,.!]|\b(?:daqui|aqui|sem|porque|pois|já que|devido|com|e|mas|agora|atualmente|diretamente|neste|nesta"
    r"|nesse|a partir|desde|por|em meu)\b"
)

AND: Final = r"(?: (?:ou|e|nem) |/|, )"
GENERIC: Final = """
enviar possuo fica fora alcance
deste desta desse incapaz sem meios a acessar acesso acessos agora alteracoes ambiente ao aplicacao app aqui as
atualmente banco base branch build capaz chave chaves cli codigo com como completa completar concluir conectar
configuradas configurado conseguimos consigo consulta consultas conta container containers correcao credenciais
credencial da dados daqui dar das db de deploy diretamente disponho do docker dos e em essa esse esta este eu executar
existem falta faltam fazer ferramenta ferramentas forma git ha imagem impossivel infelizmente infraestrutura
integracao internet isso isto ja main maneira maquina me mesmo meu migracoes migrations mim minha momento mudancas na
nao necessarias necessario necessarios nem nenhum nenhuma nesse nesta neste no nos nova novo o origin os ou pacote
pagina para partir permissao permissoes pessoalmente podemos pois por porque possivel posso projeto push que query
realizar rede registro release remota remote remoto repo repositorio rodar sandbox servico servidor sessao seu seus
sistema site somos sou sql ssh sua suas suficientes suite tambem temos tenho teste testes todas todos token tokens
tudo um uma unitarios validas validos versao web privilegios capacidade senha senhas autorizacao possibilidade conexao
"""
