"""How an inability is said in Spanish. A blank in a pattern stands for blanks and emphasis."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

#: Words are told apart by blanks.
CHUNKS: Final = False

_THE: Final = (
    r"(?:(?:el|la|los|las|un|una|este|esta|estos|estas|tu|tus|su|sus|nuestra|nuestro|mi|todos|todas|nuevo"
    r"|nueva|de|del|en|al|a) )*"
)
_NAME: Final = r"(?:[\w.@/-]+ )?"
_RUN: Final = r"(?:ejecutar|correr|lanzar|pasar|hacer|realizar)"

ACTS: Final = {
    "connect-db": (
        ("base", "bd", "db", "sql", "consulta", "migracion", "postgres", "mysql"),
        r"(?:conectar(?:me|se)?|acceder|consultar|entrar|acceso|conexión|leer"
        rf"|llegar)(?: directamente)? {_THE}{_NAME}(?:bases? de datos|bd|db|postgres\w*|mysql)"
        rf"|{_RUN} {_THE}(?:migraciones|consultas?|sql)",
    ),
    "connect-ssh": (
        ("ssh", "servidor", "host", "máquina"),
        r"(?:conectar(?:me|se)?|acceder|entrar|acceso|conexión)(?: directamente| por ssh"
        rf"| vía ssh)? {_THE}{_NAME}(?:servidor|servidores|host|máquina)(?: remot[oa])?|(?:por |vía )?ssh",
    ),
    "package": (
        ("empaquet", "paquete", "instalador"),
        rf"empaquetar(?:lo|la)?|(?:crear|generar|construir) {_THE}(?:paquete|instalador)",
    ),
    "test": (
        ("test", "prueba"),
        rf"{_RUN} {_THE}(?:tests?|pruebas|suite|batería)|(?:ejecución de )?{_THE}(?:tests|pruebas)",
    ),
    "container": (
        ("contenedor", "docker"),
        rf"(?:levantar|arrancar|iniciar|usar|ejecutar) {_THE}(?:contenedor|contenedores|docker)|docker",
    ),
    "infra": (
        ("aprovision", "infraestructura", "terraform", "cluster", "clúster"),
        r"a?provisionar|(?:aplicar|ejecutar) terraform|terraform|crear el cl[uú]ster|infraestructura",
    ),
    "deploy": (
        ("despl", "deploy", "producción", "produccion"),
        r"(?:re)?desplegar(?:lo|la|los|las)?|(?:re)?despliegues?|deploy(?:ar|ear)?|(?:poner|subir|pasar|llevar)(?:lo"
        r"|la)?(?: [\w-]+){0,3} (?:en|a) producci[oó]n|puesta en producci[oó]n",
    ),
    "publish": (
        ("public", "release", "versión", "lanz"),
        rf"publicar(?:lo|la)?|publicación|(?:hacer|crear|sacar|lanzar) {_THE}(?:release|versión)",
    ),
    "push": (
        ("push", "subir", "pr", "pull"),
        rf"(?:hacer |el )?(?:git )?push(?:ear)?|subir {_THE}(?:rama|cambios|commits?)|(?:abrir|crear) {_THE}(?:pr"
        r"|pull request)",
    ),
    "auth": (
        ("sesión", "sesion", "autentic", "login", "logue"),
        r"iniciar sesi[oó]n|autenticar(?:me|se)?|autenticación|loguear(?:me|se)?|(?:hacer )?login",
    ),
    "build": (
        ("compil", "build", "constru"),
        (
            rf"compilar(?:lo|la)?|compilación|(?:hacer |generar )?{_THE}build|construir {_THE}(?:proyecto"
            r"|imagen|aplicación|app|bundle)"
        ),
    ),
}

_NOW: Final = (
    r"(?:(?:actualmente|directamente|realmente|personalmente|tampoco|también|ahora mismo|por mi cuenta"
    r"|yo mismo|desde aquí|por ahora|físicamente) )*"
)
FILL: Final = (
    r"(?: |(?:acceder|conectarme|entrar|usar|iniciar sesión) (?:[\w.'/-]+ ){0,5}(?:para|y|ni) )?"
    r"(?:(?:hacer|ejecutar|realizar|lanzar|completar|llevar a cabo|iniciar|correr|efectuar|terminar|continuar con"
    r"|ayudarte con|hacerte|encargarme de)"
    rf" {_THE}{_NAME}{_NAME})?{_THE}"
)
_MEANS: Final = (
    r"(?:credencial(?:es)?|accesos?|permisos?|tokens?|claves?|llaves?|sesión(?: iniciada)?|herramientas?"
    r"|conexión(?: a internet| de red)?|cuenta|contraseñas?|autorización|medios|privilegios|capacidad|forma|manera"
    r"|modo|posibilidad|red)"
)
_SOME: Final = (
    r"(?:(?:las|los|la|el|unas|ningun[oa]?s?|ningún|suficientes?|válid[oa]s|necesari[oa]s|tus|acceso a"
    r"|configurad[oa]s|de|a) )*"
)
_HAVE: Final = (
    r"(?:\bno (?:tengo|tenemos|dispongo de|disponemos de|cuento con|contamos con|poseo)|\b(?:me|nos) faltan?"
    r"|\bcarezco de"
    r"|(?:este|el|mi) (?:entorno|sandbox|contenedor|equipo) no (?:tiene|dispone de|cuenta con)|\bno hay)"
    rf" {_NOW}{_SOME}"
)

HEADS: Final = (
    rf"\bno (?:puedo|podemos|podré|podremos|logro|consigo) {_NOW}",
    rf"\bno (?:soy|somos) capaz(?:ces)? de {_NOW}",
    rf"\b(?:soy|estoy) (?:incapaz de|incapacitado para) {_NOW}",
    rf"\bno (?:me |nos )?(?:es|resulta|será) posible {_NOW}",
    rf"\b(?:me|nos) (?:es|resulta) imposible {_NOW}",
)

#: Likewise: means that are missing, with what they are for behind them.
LACKING: Final = (
    rf"{_HAVE}(?:[\w.'/-]+ ){{0,3}}?{_MEANS}(?:(?: ni|,| o| y) (?:[\w-]+ )?{_MEANS})*(?: [\w-]+){{0,3}}? (?:para|de"
    r"|a) ",
    rf"{_HAVE}(?:[\w.-]+ ){{0,2}}?(?=(?:acceso|conexión)[\s*_`~])",
)
_ON: Final = r"(?: [\w.'/-]+){0,3} "
TAILS: Final = (
    rf"{_ON}(?:queda|está|es) fuera de mi(?:s)? (?:alcance|posibilidades)",
    rf"{_ON}no (?:me )?es (?:algo que (?:yo )?pueda|posible (?:para mí|desde aquí|en este|desde este))",
    rf"{_ON}no (?:lo|la|los|las) puedo (?:hacer|ejecutar|realizar|lanzar)",
    rf"{_ON}(?:requiere|necesita) (?:[\w.'/-]+ ){{0,4}}?{_MEANS} que no tengo",
)
MEANS_MARKS: Final = (
    "credencial",
    "acceso",
    "permiso",
    "token",
    "clave",
    "llave",
    "sesión",
    "herramienta",
    "conexión",
    "cuenta",
    "contraseña",
    "autoriz",
    "autentic",
    "medios",
    "privilegio",
    "capacidad",
    "forma",
    "manera",
    "modo",
    "posibilidad",
    "red",
    "logue",
)
MEANS: Final = (
    rf"{_HAVE}(?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS}(?P<more>(?: (?:de|a|para|en|al|del) (?!este|el entorno|esta"
    rf"|aquí)[\w.'/-]+(?: [\w.'/-]+){{0,2}})?)",
    r"\bno (?:estoy|he) (?:autenticad[oa]|iniciado sesión|logueado|autorizad[oa])(?P<more>(?: (?:en|con|ante"
    r"|a) [\w.'/-]+(?: [\w.'/-]+)?)?)",
)

#: Hands the act over to the person.
HANDED: Final = (
    r"\b(?:tú mismo|usted mismo|tendrás que|tienes que|deberás|debes|por favor|a mano|manualmente"
    r"|en tu (?:máquina|terminal))\b|\b(?:ejecuta|lanza|despliégalo|súbelo)"
)

CUTS: Final = r";|:(?=\s)|\s[—–-]+\s|—|, (?:así que|por lo que|por lo tanto|pero)\b|\b(?:pero|así que)\b|[()]"

SILENT: Final = (
    r"\b(?:si|cuando|hasta|salvo|a menos|en caso|siempre que|podría|pudiera|quizás?|tal vez|una vez|mientras|antes de"
    r"|después|imagina)\b",
    r"\b(?:al principio|ayer|anteriormente|inicialmente|la última vez|antes|hace (?:un|dos|unos|tres)|pude|podía"
    r"|tenía|era|fue|fueron|había)\b",
    r"\bsin (?:tu|su|la|una|un)? ?(?:confirmación|aprobación|permiso|autorización|visto bueno|revisión|preguntar"
    r"|pruebas|ok|consultar)|\b(?:tu|su) (?:confirmación|aprobación|permiso|visto bueno|autorización|ok)\b",
    r"\b(?:dice|dicen|mensaje|según|dijo|error|texto|no es que|no significa|no es cierto|no quiere decir|nada que"
    r"|pregunta)\b",
    r"\b(?:usuarios?|colaborador\w*|clientes?|ci|pipeline|runner|personas|alguien|nadie|quien|quienes|equipo"
    r"|aplicación|script|ellos|ella|él) (?:\w+ ){0,3}?no (?:puede|pueden|tiene|tienen|hay)\b",
    r"\b(?:todavía|aún|dos veces|a la vez|de nuevo|otra vez|regla|reglas|política|viernes|congelad\w*|protegida"
    r"|forzar|prohib\w*|modo plan)\b",
)
LACK: Final = (
    r"credencial|acceso|token|clave|llave|sesión|autentic|permiso|sandbox|entorno|red\b|internet|herramienta|cuenta"
    r"|desde aquí|aquí|no tengo|contraseña|manual|tú mismo|tu máquina|local|instalad|capacidad"
)
BECAUSE: Final = (
    r"\b(?:porque|ya que|puesto que|debido a|dado que|por eso|por lo que|así que)\b|(?:no puedo"
    r"|no es posible)[^.]*(?::| [—–-] |—)"
)
STATE: Final = (
    r"\b(?:fall[aóo]\w*|rot[oa]s?|conflictos?|rechaz\w+|errores|caducad\w*|timeout|sin confirmar|caíd[oa]"
    r"|no compila)\b"
)
DONE: Final = (
    r"\b(?:he|hemos|ha|han) (?:sido )?(?:ya |quedado )?(?:{done})\b",
    r"\b(?:ya|ahora) (?:está|están|quedó) (?:{done})\b",
    r"\b(?:está|quedó|fue) (?:{done}) (?:correctamente|con éxito)",
)
DONE_WORDS: Final = {
    "deploy": r"desplegad[oa]s?|en producción|publicad[oa]|en línea",
    "publish": r"publicad[oa]s?",
    "push": r"subid[oa]s?|pusheado|hecho push",
    "auth": r"iniciado sesión|autenticad[oa]",
    "build": r"compilad[oa]|construid[oa]",
    "package": r"empaquetad[oa]",
    "test": r"probad[oa]|ejecutado (?:los|las) (?:tests|pruebas)",
    "connect-db": r"conectad[oa]|consultad[oa]|migrad[oa]",
    "connect-ssh": r"conectad[oa]",
    "container": r"levantad[oa]s?|iniciad[oa]s?",
    "infra": r"aplicad[oa]|aprovisionad[oa]",
}
#: Behind an act, what names no target of it.
STOP: Final = (
    r"[,.!]|\b(?:desde|aquí|sin|porque|ya que|dado|debido|mientras|por|con|así|y|pero|ahora|actualmente"
    r"|directamente|en (?:este|esta|mi|el entorno|la sesión)|a partir)\b"
)

AND: Final = r"(?: (?:o|y|ni|e|u) |/|, )"
GENERIC: Final = """
queda esta fuera alcance posibilidades mis
incapaz capaces forma medio medios despues sigo este a acceso accesos actualmente ahora al aplicacion app aqui arreglo
base build cambio cambios capaz carezco clave claves cli codigo completa completar con configuradas configurado
consigo consulta consultas contenedor contenedores correccion credencial credenciales cuenta cuento datos db de del
deploy desde directamente dispongo docker ejecutar el en entorno es eso esos esta esto estos falta faltan git hacer
hay herramienta herramientas imagen imposible infraestructura integracion internet la lamentablemente lanzar las llave
llaves lo logro los main manera maquina me mi mia migraciones mio mismo modo necesarias necesario necesarios ni ningun
ninguna no nos nueva nuevo o origin pagina paquete para permiso permisos personalmente podemos podre por porque
posible proyecto pruebas puedo push que rama real reales realizar red registro release remota remote remoto repo
repositorio sandbox se servicio servidor sesion sistema sitio somos soy sql ssh su suficientes suite sus tambien
tampoco tenemos tengo test tests todo todos token tokens tu tus un una unas unitarias unos validas validos version web
y ya yo privilegios capacidad contrasena contrasenas autorizacion posibilidad conexion
"""
