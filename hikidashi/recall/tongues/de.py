"""How an inability is said in German. A blank in a pattern stands for blanks and emphasis."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

#: Words are told apart by blanks.
CHUNKS: Final = False

_ON: Final = r"(?: [\w.'/-]+){0,4} "
_DO: Final = (
    r"(?:aus(?:zu)?führen|durch(?:zu)?führen|(?:zu )?starten|laufen (?:zu )?lassen|(?:zu )?machen|vor(?:zu)?nehmen"
    r"|an(?:zu)?stoßen|(?:zu )?erledigen|ab(?:zu)?schließen|(?:zu )?übernehmen)"
)

ACTS: Final = {
    "connect-db": (
        ("datenbank", "db", "sql", "abfrage", "migration"),
        r"\w*(?:datenbank|datenbanken)(?: [\w.-]+)?(?:(?: zu)? verbinden| zugreifen| zuzugreifen|(?: zu)? erreichen"
        r"| abfragen| abzufragen)"
        rf"|(?:zugriff auf|verbindung zu[rm]?|auf)(?: [\w.-]+){{0,3}} \w*datenbank(?: (?:zu)?(?:zu)?greifen)?"
        r"|\w*datenbank(?:zugriff|verbindung)"
        rf"|(?:migration(?:en)?|sql|abfragen?)(?: [\w.-]+){{0,2}} {_DO}",
    ),
    "connect-ssh": (
        ("ssh", "server", "host", "maschine"),
        r"(?:per |über |via )?ssh(?:-zugriff|-verbindung)?(?: [\w.-]+){0,3} (?:verbinden|zu verbinden|zugreifen"
        r"|zuzugreifen|einloggen|einzuloggen|anmelden|anzumelden)"
        r"|(?:auf|mit|zugriff auf|verbindung zu[rm]?)(?: [\w.-]+){0,2} \w*(?:server|host|maschine)(?: (?:per|über"
        r"|via) ssh)?(?: (?:verbinden|zu verbinden|zugreifen|zuzugreifen|einloggen|einzuloggen|anmelden|anzumelden))?"
        r"|ssh",
    ),
    "package": (("paket", "installer"), r"paketieren|(?:paket|installer)(?: [\w.-]+)? (?:zu )?(?:bauen|erstellen)"),
    "test": (
        ("test",),
        rf"(?:\w*tests?|testsuite|test-suite|testlauf)(?: [\w.-]+){{0,5}} {_DO}|\w*tests",
    ),
    "container": (
        ("container", "docker"),
        (
            rf"(?:docker-?)?container(?: [\w.-]+){{0,2}} {_DO}|docker(?: [\w.-]+){{0,2}} (?:nutzen|verwenden"
            r"|zu nutzen|starten)"
        ),
    ),
    "infra": (
        ("provision", "terraform", "infrastruktur", "cluster"),
        (
            rf"(?:zu )?provisionieren|terraform(?: [\w.-]+){{0,2}} (?:anzuwenden|anwenden|{_DO})"
            r"|infrastruktur(?: [\w.-]+)? (?:anzulegen|anlegen)"
        ),
    ),
    "deploy": (
        ("deploy", "ausroll", "auszuroll", "bereit", "produktion", "live", "rollout"),
        rf"(?:deployment|deploy|rollout)(?: [\w.-]+){{0,3}} {_DO}|(?:zu )?deployen|deployments?|aus(?:zu)?rollen"
        r"|bereit(?:zu)?stellen|bereitstellung|rollout|(?:in produktion|live)(?: zu)? (?:bringen|schalten|stellen"
        r"|nehmen|gehen)",
    ),
    "publish": (
        ("veröffentlich", "publizier", "release"),
        (
            r"(?:zu )?veröffentlichen|veröffentlichung|(?:zu )?publizieren"
            rf"|release(?: [\w.-]+)? (?:(?:zu )?erstellen|{_DO})"
        ),
    ),
    "push": (
        ("push", "pull", "pr", "hochlad", "hochzulad"),
        (
            rf"(?:zu )?pushen|(?:git )?push(?: {_DO})?|hoch(?:zu)?laden|(?:pull request"
            r"|pr)(?: [\w.-]+)? (?:(?:zu )?erstellen|(?:zu )?öffnen|aufmachen)"
        ),
    ),
    "auth": (
        ("anmeld", "anzumeld", "einlog", "einzulog", "authent", "login"),
        r"an(?:zu)?melden|anmeldung|ein(?:zu)?loggen|(?:zu )?authentifizieren|authentifizierung|login",
    ),
    "build": (
        ("build", "bau", "kompil"),
        rf"(?:build)(?: [\w.-]+){{0,3}} {_DO}|(?:zu )?(?:bauen|builden|kompilieren)|build",
    ),
}

FILL: Final = r",?(?: |[\w./'-]+ |, ){0,6}"
_MEANS: Final = (
    r"(?:[\w-]*(?:zugangsdaten|anmeldedaten|zugriffsrechte?|rechte|berechtigung(?:en)?|zugriff|zugang|token|tokens"
    r"|schlüssel|keys?|werkzeuge?|tools?|netzwerkzugriff|internetzugriff|internetzugang|netzwerk|passwort|konto"
    r"|möglichkeit|credentials|netzwerkverbindung|verbindung|mittel))"
)
_HAVE: Final = (
    r"(?:\b(?:ich|wir) (?:[\w-]+ ){0,2}?(?:habe|haben)(?: [\w-]+){0,3}?|\b(?:habe|haben) (?:ich|wir)(?: [\w-]+){0,3}?"
    r"|\bes gibt(?: [\w-]+){0,3}?|\bgibt es(?: [\w-]+){0,3}?"
    r"|\b(?:umgebung|sandbox|sitzung) hat(?: [\w-]+){0,2}?) (?:kein\w*|weder) "
)
_LACKS: Final = (
    r"\b(?:(?:mir|uns|hier) (?:[\w-]+ ){0,2}?fehl(?:en|t)|fehl(?:en|t) (?:mir|uns"
    r"|hier))(?: [\w-]+){0,2}? (?:die |der |das |jegliche\w* |gültige )?"
)

HEADS: Final = (
    rf"\b(?:kann ich|ich kann) (?=(?:[\w./'-]+[\s*_`]+){{1,5}}?nicht[\s*_`]+{_DO})",
    r"\b(?:ich (?:[\w-]+ ){0,2}?(?:kann|können)|(?:kann|können) (?:ich|wir)|wir können)(?: [\w./'-]+){0,8}? nicht ",
    r"\b(?:ich (?:[\w-]+ ){0,2}?bin|bin ich|wir sind)(?: [\w.-]+){0,4}? (?:nicht (?:in der lage|imstande|fähig"
    r"|befugt)|außerstande)",
    r"\b(?:ist es|es ist)(?: [\w.-]+){0,4}? (?:nicht möglich|unmöglich)",
    r"\bich (?:[\w-]+ ){0,2}?werde(?: [\w./'-]+){0,6}? nicht (?=[^.]* können)",
)

#: Likewise: means that are missing, with what they are for behind them.
LACKING: Final = (
    rf"{_HAVE}(?:[\w.'/-]+ ){{0,3}}?{_MEANS}(?: (?:oder|und) (?:[\w-]+ )?{_MEANS})?",
    rf"{_LACKS}(?:[\w.'/-]+ ){{0,2}}?{_MEANS}(?: (?:oder|und) (?:[\w-]+ )?{_MEANS})?",
    rf"{_HAVE}(?:[\w.-]+ ){{0,2}}?(?=(?:zugriff|verbindung|zugang)[\s*_`~])",
)
TAILS: Final = (
    rf"{_ON}muss ich (?:dir|euch|ihnen) überlassen(?=[^.]*\bkein)",
    rf"{_ON}(?:lässt|lassen) sich (?:von hier aus|hier|(?:in|aus) (?:dieser|meiner|der) (?:sandbox|umgebung))"
    rf"(?: [\w-]+){{0,2}}? nicht {_DO}",
    rf"{_ON}(?:ist|sind)(?: [\w.'/-]+){{0,5}} (?:nicht möglich|unmöglich|nicht machbar)",
    rf"{_ON}kann ich(?: [\w./'-]+){{0,5}} nicht {_DO}",
    r"(?: [\w.'/-]+){0,2} kann ich(?: [\w./'-]+){0,5} nicht(?=[\s*_`]*(?:[,.;:!]|$))",
    rf"{_ON}kann(?: von hier aus| hier| in dieser umgebung)? (?:von hier aus |hier "
    r"|in dieser umgebung )?nicht (?:durchgeführt|ausgeführt|gestartet) werden",
)
MEANS_MARKS: Final = (
    "daten",
    "recht",
    "berechtigung",
    "zugriff",
    "zugang",
    "token",
    "schlüssel",
    "key",
    "werkzeug",
    "tool",
    "netz",
    "passwort",
    "konto",
    "möglichkeit",
    "credential",
    "verbindung",
    "mittel",
    "angemeldet",
    "eingeloggt",
    "authent",
    "autoris",
)
MEANS: Final = (
    rf"{_HAVE}(?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS}(?P<more>(?: (?:für|auf|zu|zum|zur|bei) (?!diese|dieser"
    rf"|hier)[\w.'/-]+(?: [\w.'/-]+){{0,2}})?)",
    rf"{_LACKS}(?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS}(?P<more>(?: (?:für|auf|zu|zum"
    rf"|zur) [\w.'/-]+(?: [\w.'/-]+){{0,2}})?)",
    r"\b(?:ich bin|bin ich)(?: [\w-]+){0,2}? nicht (?:bei |in )?(?P<more>[\w.'/-]+ )?(?:angemeldet|eingeloggt"
    r"|authentifiziert|autorisiert)",
    r"\b(?P<what>[\w.-]*?)-?(?:zugangsdaten|anmeldedaten) (?:fehlen|sind nicht (?:vorhanden|hinterlegt|konfiguriert))",
)

#: Hands the act over to the person.
HANDED: Final = r"\b(?:selbst|musst du|müssen sie|bitte|manuell|von hand|auf deine[rm])\b"

CUTS: Final = r";|:(?=\s)|\s[—–-]+\s|—|, (?:aber|also|daher|deshalb|sodass|jedoch)\b|[()]"

SILENT: Final = (
    r"\b(?:wenn|falls|sofern|solange|sobald|bis|es sei denn|außer|könnte|könnten|würde|würden|vielleicht"
    r"|möglicherweise|ob|erst|bevor|nachdem|angenommen)\b",
    r"\b(?:zuerst|zunächst|anfangs|gestern|vorhin|früher|damals|letzte[snr]?|bisher|konnte|konnten|war|waren|hatte"
    r"|hatten|vorher)\b",
    r"\bohne (?:deine?|ihre?|eure?|eine?|ausdrückliche)? ?(?:freigabe|zustimmung|bestätigung|erlaubnis|genehmigung"
    r"|rücksprache|review|prüfung|tests|nachfrage)|\b(?:deine?|ihre?) (?:freigabe|zustimmung|bestätigung|erlaubnis"
    r"|genehmigung|ok|okay)\b",
    r"\b(?:meldung|sagt|sagte|laut|heißt|fehlermeldung|steht|schreibt|nicht so, dass|bedeutet nicht|stimmt nicht"
    r"|nichts|behaupt\w+|text)\b",
    r"\b(?:nutzer|benutzer|kunden?|ci|pipeline|runner|mitwirkende|kollegen?|jemand|niemand|wer|man|du|sie|team"
    r"|anwendung|skript|app) (?:[\w-]+ ){0,2}?(?:kann|können|hat|haben|darf|dürfen)(?: [\w-]+){0,3} (?:nicht|kein)",
    r"\b(?:noch nicht|zweimal|gleichzeitig|erneut|regel|regeln|richtlinie|freitag\w*|freeze|eingefroren|geschützt\w*"
    r"|force|verboten|planmodus|nicht empfehlen|nicht nur|guten gewissens)\b",
)
LACK: Final = (
    r"zugangsdaten|anmeldedaten|zugriff|zugang|token|schlüssel|\bkey|anmeld|angemeldet|eingeloggt|authent"
    r"|berechtigung|rechte|sandbox|umgebung|netzwerk|internet|tool|werkzeug|konto|hier\b|hier aus|ich habe kein"
    r"|passwort|manuell|selbst|lokal|installiert|möglichkeit|sitzung"
)
BECAUSE: Final = r"\b(?:weil|da|denn|wegen|aufgrund|deshalb|daher|also|sodass)\b|kann[^.]*nicht[^.]*(?::| [—–-] |—)"
STATE: Final = (
    r"\b(?:fehlgeschlagen|schlägt|schlagen|scheitert|kaputt|konflikte?|abgelehnt|fehlern?|abgelaufen"
    r"|timeout|nicht committet|ausgefallen|kompiliert nicht|rot)\b"
)
DONE: Final = (
    r"\b(?:habe|haben|hab) (?:[\w.'/-]+ ){0,6}?(?:{done})\b",
    r"\b(?:ist|sind|wurde|wurden) (?:[\w.'/-]+ ){0,4}?(?:{done})\b(?! nicht)",
)
DONE_WORDS: Final = {
    "deploy": r"deployt|deployed|ausgerollt|bereitgestellt|live",
    "publish": r"veröffentlicht|publiziert",
    "push": r"gepusht|hochgeladen",
    "auth": r"angemeldet|eingeloggt",
    "build": r"gebaut|kompiliert",
    "package": r"paketiert",
    "test": r"getestet|tests ausgeführt",
    "connect-db": r"verbunden|migriert|abgefragt",
    "connect-ssh": r"verbunden",
    "container": r"gestartet",
    "infra": r"angewendet|provisioniert",
}
#: Behind an act, what names no target of it.
STOP: Final = (
    r"[,.!]|\b(?:von|hier|ohne|weil|da|denn|wegen|aufgrund|mit|und|aber|derzeit|aktuell|direkt|in (?:dieser"
    r"|diesem|meiner|der sandbox)|selbst)\b"
)

AND: Final = r"(?: (?:oder|und|noch|bzw\.) |/|, )"
GENERIC: Final = """
sich lassen lässt lasst uberlassen überlassen muss dir
dies das gesamten aber aktuell alle allerdings als am an anderung anderungen anmeldedaten anwendung app auch auf aus
ausfuhren ausserstande befugt bei berechtigung berechtigungen bin branch build cli code commit commits container da
dafur daher damit dass datenbank dazu db dein deine deinen dem den denn deploy deployment der derzeit des die diese
diesem diesen dieser dieses direkt docker durchfuhren ein eine einem einen einer einfach er es fahig fehlen fehlt fix
fur ganze gar gerade gesamte git gultige gultigen habe haben hier ich ihn ihre ihren im imstande in infrastruktur
integrationstests internet ist jetzt kann kein keine keinem keinen keiner koennen komplette konfiguriert
konfigurierten konnen korrektur lage lassen laufen leider machen main maschine meinem meiner mich mir mit moglich
moglichkeit momentan netzwerk neue neuen nicht noch notige notigen notwendigen nun oder origin paket
produktionsdatenbank projekt push rechte release remote repo repository sandbox schlussel seite selbst server sie sind
sitzung so sql ssh starten test tests token tool tools umgebung und unit unmoglich uns version von webseite website
weil werkzeug werkzeuge wir wirklich zu zugang zugangsdaten zugriff zum zur passwort konto mittel netzwerkzugriff
verbindung zugriffsrechte besteht
"""
