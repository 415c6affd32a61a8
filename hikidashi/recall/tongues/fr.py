"""How an inability is said in French. A blank in a pattern stands for blanks and emphasis."""

from __future__ import annotations

TYPE_CHECKING = False  # loading typing costs a hook more than all of this
if TYPE_CHECKING:
    from typing import Final

#: Words are told apart by blanks.
CHUNKS: Final = False

_THE: Final = (
    r"(?:(?:le|la|les|un|une|ce|cette|ces|votre|vos|ton|ta|tes|notre|nos|mon|nouvelle|nouveau|de|du|des|à"
    r"|au|aux|sur|vers|dans|tous|toute|toutes) |l'|d'|de l'|à l')*"
)
_NAME: Final = r"(?:[\w.@/-]+ )?"
_RUN: Final = r"(?:lancer|exécuter|executer|faire tourner|faire passer|passer|effectuer|jouer)"

ACTS: Final = {
    "connect-db": (
        ("base", "bdd", "db", "sql", "requête", "migration"),
        r"(?:(?:me |se )?connecter|accéder|interroger|consulter|accès|connexion"
        rf"|lire)(?: directement)? {_THE}{_NAME}(?:bases? de données|bdd|base|db|postgres\w*|mysql)"
        rf"|{_RUN} {_THE}(?:migrations?|requêtes?|sql)",
    ),
    "connect-ssh": (
        ("ssh", "serveur", "machine", "hôte"),
        r"(?:(?:me |se )?connecter|accéder|accès|connexion)(?: directement| en ssh| via ssh| par ssh"
        rf"| ssh)? {_THE}{_NAME}(?:serveurs?|machine|hôte)(?: distante?)?|(?:en |via |par )?ssh",
    ),
    "package": (
        ("paquet", "empaquet", "installeur"),
        rf"empaqueter|(?:créer|construire|générer) {_THE}(?:paquet|installeur)",
    ),
    "test": (("test", "suite"), rf"{_RUN} {_THE}(?:suite de )?tests?|{_THE}tests"),
    "container": (
        ("conteneur", "docker"),
        rf"(?:lancer|démarrer|utiliser|exécuter) {_THE}(?:conteneurs?|docker)|docker",
    ),
    "infra": (
        ("provision", "infrastructure", "terraform", "cluster"),
        r"provisionner|(?:appliquer|exécuter|lancer) terraform|terraform|créer le cluster|infrastructure",
    ),
    "deploy": (
        ("déplo", "deplo", "prod", "ligne", "livrer"),
        r"(?:re)?d[ée]ployer|(?:re)?d[ée]ploiements?|(?:mettre|passer|livrer|pousser)(?: [\w'-]+){0,3} en (?:prod"
        r"|production|ligne)|mise en (?:prod|production|ligne)",
    ),
    "publish": (
        ("publi", "release", "version"),
        rf"publier|publication|(?:faire|créer|sortir) {_THE}(?:release|version)",
    ),
    "push": (
        ("pouss", "push", "pr", "pull"),
        rf"pousser|pusher|(?:faire )?{_THE}(?:git )?push|(?:ouvrir|créer) {_THE}(?:pr|pull request)",
    ),
    "auth": (
        ("connect", "authent", "login", "identif"),
        r"m'authentifier|s'authentifier|authentifier|authentification|me loguer|me logger|login|ouvrir une session",
    ),
    "build": (
        ("compil", "build", "constru"),
        (
            rf"compiler|compilation|builder|(?:faire |lancer )?{_THE}build|construire {_THE}(?:projet|image"
            r"|application|bundle)"
        ),
    ),
}

_NOW: Final = (
    r"(?:(?:actuellement|directement|vraiment|personnellement|non plus|également|moi-même|ici|donc"
    r"|malheureusement|d'ici) )*"
)
FILL: Final = (
    r"(?: |l'|le |la |les |(?:accéder|me connecter|entrer|utiliser) (?:[\w.'/-]+ ){0,5}(?:pour|et|ni) )?"
    r"(?:(?:faire|exécuter|effectuer|lancer|réaliser|procéder|mener|terminer|démarrer|déclencher|continuer|finaliser"
    r"|m'occuper|vous aider|t'aider|assurer)"
    rf" {_THE}{_NAME}{_NAME})?{_THE}"
)
_MEANS: Final = (
    r"(?:identifiants?|accès|droits?|permissions?|autorisations?|jetons?|tokens?|clés?(?: ssh| api)?|outils?"
    r"|connexion(?: réseau)?|réseau|compte|mot de passe|moyens?|possibilité|capacité|credentials?|privilèges?|façon"
    r"|session)"
)
_SOME: Final = (
    r"(?:(?:les|le|la|des|de|du|un|une|tes|vos|aucun|aucune|suffisants?|nécessaires?|requis|valides?|bons"
    r"|bonnes) |l'|d'|d'un |aux? )*"
)
_HAVE: Final = (
    r"(?:\b(?:je|nous) (?:n'ai|n'avons) (?:[\w-]+ )?(?:pas|plus|ni)|\b(?:je|nous) (?:n'ai"
    r"|n'avons)(?: [\w-]+)?(?= aucun)|\b(?:je|nous) ne (?:dispose|disposons) (?:[\w-]+ )?(?:pas|d'aucun\w*)"
    r"|\bil (?:me |nous )manque|\b(?:cet environnement|l'environnement|ce bac à sable|la session) n'a (?:pas"
    r"|aucun\w*)|\bil n'y a (?:pas|aucun\w*)|\b(?:je|nous) n'avons (?:pas|aucun\w*))"
    rf" {_NOW}{_SOME}"
)

HEADS: Final = (
    rf"\b(?:je|nous) ne (?:peux|pouvons|pourrai|pourrons|saurais) (?:[\w-]+ ){{0,3}}?pas {_NOW}",
    rf"\bje ne (?:l'|la |le )?peux pas {_NOW}",
    rf"\b(?:je ne suis|nous ne sommes) (?:[\w-]+ )?pas (?:en mesure|capables?|en état|autorisée?) (?:de |d'){_NOW}",
    rf"\b(?:je suis|nous sommes) (?:[\w-]+ )?(?:incapables?|dans l'incapacité|dans l'impossibilité) (?:de |d'){_NOW}",
    rf"\bil (?:m'|nous )?est (?:[\w-]+ )?impossible (?:pour moi |depuis ici |d'ici )?(?:de |d'){_NOW}",
    rf"\bil ne m'est (?:[\w-]+ )?pas possible (?:de |d'){_NOW}",
    rf"\bil n'est (?:[\w-]+ )?pas possible (?:pour moi |d'ici |ici |depuis [\w'\s]+ )?(?:de |d'){_NOW}",
    r"^\s*(?:malheureusement,? )?impossible (?:pour moi )?(?:de |d')",
)

#: Likewise: means that are missing, with what they are for behind them.
LACKING: Final = (
    rf"{_HAVE}(?:[\w.'/-]+ ){{0,3}}?{_MEANS}(?:(?: ni|,| ou| et) (?:[\w-]+ )?{_MEANS})*(?: [\w-]+){{0,3}}? (?:pour "
    r"|de |d'|permettant de |à )",
    rf"{_HAVE}(?:[\w.-]+ ){{0,2}}?(?=(?:accès|connexion)[\s*_`~])",
)
_ON: Final = r"(?: [\w.'/-]+){0,3} "
TAILS: Final = (
    rf"{_ON}n'est pas (?:quelque chose que je puisse|possible (?:pour moi|d'ici|depuis|dans cet))",
    rf"{_ON}(?:nécessite|demande|exige) (?:[\w.'/-]+ ){{0,4}}?{_MEANS} que je n'ai pas",
)
MEANS_MARKS: Final = (
    "identifi",
    "accès",
    "droit",
    "permission",
    "autoris",
    "jeton",
    "token",
    "clé",
    "outil",
    "connexion",
    "réseau",
    "compte",
    "mot de passe",
    "moyen",
    "possibilité",
    "capacité",
    "credential",
    "privilège",
    "façon",
    "session",
    "connecté",
    "authentif",
)
MEANS: Final = (
    rf"{_HAVE}(?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS}(?P<more>(?: (?:de |d'|à |au |aux |pour |sur |du )(?!cet|ici"
    rf"|l'environnement)[\w.'/-]+(?: [\w.'/-]+){{0,2}})?)",
    r"\bje ne suis (?:[\w-]+ )?pas (?:connectée?|authentifiée?|identifiée?)(?P<more>(?: (?:à|sur|auprès de"
    r"|au) [\w.'/-]+(?: [\w.'/-]+)?)?)",
    rf"\baucune? (?P<what>(?:[\w.'/-]+ ){{0,3}}?){_MEANS} (?P<more>(?:[\w.'/-]+ )?)(?:n'est|ne sont) (?:disponible"
    r"|configuré|défini|présent)",
)

#: Hands the act over to the person.
HANDED: Final = (
    r"\b(?:vous-même|toi-même|vous devrez|tu devras|il faudra|veuillez|manuellement|de votre côté|de ton côté)\b"
)

CUTS: Final = r";|:(?=\s)|\s[—–-]+\s|—|, (?:mais|donc|je vous)\b|\bmais\b|[()]"

SILENT: Final = (
    r"\b(?:si|lorsque|quand|jusqu'à|tant que|sauf|à moins|au cas où|pourrais|pourrait|peut-être|avant|après|une fois"
    r"|dès que|supposons|imaginons)\b|\bs'il",
    r"\b(?:au début|d'abord|hier|auparavant|initialement|la dernière fois|tout à l'heure|n'ai pas pu|pouvais|pouvait"
    r"|était|étaient|avait|avais|il y a (?:un|deux|quelques))\b",
    r"\bsans (?:votre|ton|ta|l'|un|une)? ?(?:accord|approbation|confirmation|autorisation|validation|feu vert"
    r"|permission|relecture|revue|demander|tests)|\b(?:votre|ton) (?:accord|approbation|confirmation|autorisation"
    r"|validation|feu vert|permission)\b",
    r"\b(?:dit|disent|message|selon|erreur|affiche|indique|écrit|ce n'est pas que|ne signifie pas|ne veut pas dire"
    r"|pas vrai|rien)\b",
    r"\b(?:utilisateurs?|contributeurs?|clients?|ci|pipeline|runner|personnes?|quelqu'un|personne|collègues?|équipe"
    r"|vous|tu|ils|elles?|application|script|on) (?:[\w'-]+ ){0,3}?(?:ne (?:peut|peuvent|pouvez|peux)|n'(?:a|ont|avez"
    r"|as)) (?:pas|aucun)",
    r"\b(?:pas encore|deux fois|en même temps|à nouveau|règles?|politique|vendredi|gelée?s?|gel|protégée?|force"
    r"|forcer|interdit|mode plan|recommander)\b",
)
LACK: Final = (
    r"identifiant|accès|jeton|token|clé|connecté|authentif|permission|droits?\b|autoris|sandbox|bac à sable"
    r"|environnement|réseau|internet|outil|compte|\bici\b|d'ici|je n'ai|mot de passe|manuel|vous-même|votre côté"
    r"|local|installé|session|moyen"
)
BECAUSE: Final = (
    r"\b(?:car|parce que|parce qu'|puisque|étant donné|en raison|à cause|donc|c'est pourquoi)\b"
    r"|(?:ne peux pas|impossible)[^.]*(?::| [—–-] |—)"
)
STATE: Final = (
    r"\b(?:échou\w+|échec|cassée?s?|conflits?|rejetée?s?|erreurs|expirée?|délai|non commité\w*|en panne"
    r"|ne compile pas|rouge)\b"
)
DONE: Final = (
    r"\b(?:j'ai|nous avons|a été|ont été) (?:[\w-]+ ){0,2}?(?:{done})\b",
    r"\b(?:est|sont) (?:maintenant |désormais |bien |déjà )(?:{done})\b",
)
DONE_WORDS: Final = {
    "deploy": r"déployée?s?|mise? en (?:ligne|production)|en (?:ligne|production)",
    "publish": r"publiée?s?",
    "push": r"poussée?s?|pushée?s?",
    "auth": r"connectée?|authentifiée?",
    "build": r"compilée?s?|construite?s?",
    "package": r"empaquetée?s?",
    "test": r"testée?s?|(?:lancé|exécuté) les tests",
    "connect-db": r"connectée?|interrogée?|migrée?",
    "connect-ssh": r"connectée?",
    "container": r"démarrée?s?|lancée?s?",
    "infra": r"appliquée?s?|provisionnée?s?",
}
#: Behind an act, what names no target of it.
STOP: Final = (
    r"[,.!]|\b(?:depuis|ici|d'ici|sans|car|parce|puisque|en raison|avec|et|mais|actuellement|directement"
    r"|dans (?:cet|cette|ce|mon)|moi-même|par)\b"
)

AND: Final = r"(?: (?:ou|et|ni) |/|, )(?:de |d')?"
GENERIC: Final = """
donc
incapacite impossibilite etat a acceder acces actuellement ai app application au aucun aucune aussi aux avec bac base
branche build ca capable capacite car ce cela ces cet cette changements cle cles cli code compilation complete compte
connecter conteneur conteneurs correctif d dans db de deploiement deploy depot depuis des dici directement dispose
distant distante docker donnees droit droits du effectuer egalement en environnement est et executer faire git ici
identifiant identifiants il image impossible infrastructure internet je jeton jetons l la lancer le les ligne m ma
machine main malheureusement manque me meme mes mesure migrations modifications moi moimeme mon moyen n n'ai nai ne
necessaire necessaires ni non nos notre nous nouveau nouvelle origin ou outil outils page paquet par parce pas
permission permissions personnellement peux plus possibilite possible pour pouvons proceder projet publication puisque
push qu que realiser registre registry release remote repo requete requetes requis reseau s sable serveur session site
sql ssh suffisants suis suite sur systeme ta te tes test tests token ton tous tout toute un une unitaires valides vers
version vos votre vous vraiment web moyens privileges facon mot passe connexion autorisation autorisations revanche
toutefois cependant
"""
