/**
 * How people of one language say things. `«…»` marks the words that must be seen again, `{slot}`s are filled by the
 * generator. What ends later has two parts, divided by `=>`: what is said first, and what ends it.
 */
export interface Wordings {
  /** Between two sentences on one line. */
  stop: string;
  constraint: readonly string[];
  preference: readonly string[];
  decision: readonly string[];
  fact: readonly string[];
  todo: readonly string[];
  /** Said by the agent when it ends a turn. */
  agentDecision: readonly string[];
  agentFact: readonly string[];
  /** A constraint that the user takes back. */
  withdrawn: readonly string[];
  /** A decision of the user with a value that becomes another. */
  changed: readonly string[];
  /** The user names it, the agent does it. */
  finished: readonly string[];
  /** Lines of the agent's list of what is to do. */
  steps: readonly string[];
  /** The agent on a `{command}` that runs again. */
  mended: readonly string[];
  /** In front of what is said in passing; one may be empty. */
  asides: readonly string[];
  requests: readonly string[];
  questions: readonly string[];
  fillers: readonly string[];
  /** The agent, before it calls a tool. */
  chatter: readonly string[];
  /** The agent, when it ends a turn. */
  closings: readonly string[];
}

export const english: Wordings = {
  stop: ". ",
  constraint: [
    "«the {mod} endpoint keeps answering XML», the old client cannot do anything else",
    "«{table} is read only for us», the auditors look at every write",
    "«nobody but Maria touches {file}»",
    "«{mod} has to run without a network», it sits on ships",
    "«the bundle of {mod} may not exceed {num} kB»",
    "legal did not sign off on it, so «no {lib} anywhere in {mod}»",
    "«whatever {name} returns today it returns tomorrow», three partners depend on it",
    "«{file} stays synchronous», the plugin host cannot await",
    "«{mod} starts with {num} MB of memory», customers sit on old boxes",
    "«logs of {mod} go through {lib} and nothing else»",
    "«never print to stdout in {mod}», the pipe breaks",
    "«{host} is production, hands off»",
    "«amounts in {table} are cents, without exception»",
    "«unsigned files from {mod} get us fined», so everything that leaves is signed",
  ],
  preference: [
    "«small commits please, one per change in {mod}»",
    "«i like tables better than prose in the {mod} report»",
    "not a fan of classes, «plain functions in {file}»",
    "«keep the comments in {mod} short»",
    "«when {name} fails show me the log first and talk later»",
    "«tests of {mod} in the style of {lib}»",
    "«words of the domain for whatever gets a name in {file}»",
    "«the diff of {file} before any explanation»",
  ],
  decision: [
    "«{name} is the name of the new service», Ana agreed",
    "ok, «we take {lib} for the queue of {mod}», it is the only one with retries",
    "talked to ops: «{mod} gets its own database»",
    "«sessions live in {table} from now on», redis was too expensive",
    "«the flag is called {mod}» and it is off by default",
    "final: «dates in {mod} are ISO with the zone»",
    "we stay on it, «{lib} is not replaced this year»",
    "agreed with support: «errors of {mod} go to {host}» and not into the mailbox",
  ],
  fact: [
    "«the staging database runs on {host}»",
    "«{ticket} is the same bug», see there",
    "«the nightly job of {mod} takes {num} minutes»",
    "she wrote all of it: «ask Priya about {mod}»",
    "«{file} is copied to every node by ansible»",
    "«the pilot customer has contract {ticket}»",
    "«{mod} was called {name} before the merger»",
    "«only {num} customers use {mod} at all»",
  ],
  todo: [
    "later «{table} needs a migration too»",
    "«before the release {file} has to be documented»",
    "«someone has to tell the {mod} people about {ticket}»",
    "still there after this: «the dead code in {file}»",
    "«the licence of {lib} still has to be checked»",
    "«{name} gets its metrics in the next round»",
  ],
  agentDecision: [
    "I went with «{lib} for parsing in {mod}», because the standard parser drops the sign.",
    "«{name} now owns the retries», since two callers retried at once.",
    "«The cache of {mod} is keyed by {table}» instead of the URL: URLs change with the locale.",
    "I tried a worker pool and gave it up: «{mod} stays single-threaded», copying cost more than it saved.",
    "«{file} is generated from the schema now», so that both sides cannot drift apart.",
    "For now «{mod} locks {table} as a whole»; row locks would deadlock with the importer.",
    "Of the two I took the smaller change: «{name} is called from {file} only».",
    "I left {lib} out: «{mod} formats its own dates», forty lines against two megabytes.",
  ],
  agentFact: [
    "Root cause: «{name} rounds {num} down before it compares».",
    "«{file} is loaded twice, once through {mod}», which explains the double entries.",
    "«{table} has no index on the tenant column»; one call takes {num} ms.",
    "It turns out «{name} swallows the timeout of {host}».",
    "I measured it: «{mod} breaks at {num} open connections».",
    "«The backup of {table} lies in /var/backups/{mod}.sql.gz».",
    "«{ticket} only happens while the cache of {mod} is cold».",
    "«The old format is read in {file}, line {num}», and nowhere else.",
  ],
  withdrawn: [
    "«the {mod} import keeps the csv column order»=>the csv people are gone, «column order does not matter for {mod} any more»",
    "«leave {file} alone until friday»=>«{file} is free again», do with it what you like",
    "«no deploys of {mod} this week»=>ok the freeze is over, «{mod} can be deployed»",
    "please «keep {name} compatible with the {lib} plugin»=>forget the plugin, «{lib} support is dropped»",
    "«everything {mod} sends stays under {num} bytes»=>the modem is replaced, «{mod} may send as much as it likes»",
    "«only Jonas merges into {mod}»=>Jonas went back to his team, «anyone can merge into {mod}»",
  ],
  changed: [
    "«the gateway of {mod} listens on {port}»=>ops need {port} themselves, «take {port2} for the {mod} gateway»",
    "«uploads of {mod} are retried {num} times»=>«{num2} retries for uploads of {mod}», {num} was too low",
    "«the exporter is called {name}»=>I don't like it any more, «rename the exporter to {name2}»",
    "«csv in {mod} is parsed with {lib}»=>scrap that, «{mod} parses csv with {lib2}»",
    "«cache entries of {mod} live {num} seconds»=>«{num2} seconds for cache entries of {mod}», not {num}",
    "«backups of {mod} are kept {num} days»=>the lawyers want more: «{num2} days of backups for {mod}»",
  ],
  finished: [
    "after this «{file} still needs a test for empty input»=>«The test for empty input of {file} is written» and passes.",
    "«remind me to bump {lib} to {num}»=>You wanted to be reminded: «{lib} is at {num} now».",
    "«we also owe {mod} a changelog line»=>«The changelog of {mod} has its line».",
  ],
  steps: [
    "move {name} out of {file}",
    "replace {lib} in {mod}",
    "write a test for {table}",
    "measure {mod} under load",
  ],
  mended: [
    "«`{command}` is green again».",
    "With that in place «`{command}` passes».",
    "Fixed; «`{command}` runs through now».",
  ],
  asides: ["by the way, ", "oh and ", "", "", "one more thing: ", "before i forget, "],
  requests: [
    "can you look at why {file} is slow?",
    "add a test for the empty case in {file}",
    "the layout of {file} is odd, tidy it up",
    "now wire {name} into {file}",
    "show me the diff of {file}",
    "rename the helper in {file} to something better",
    "{file} has a duplicate of {name}, get rid of one",
    "split {file}, it is too long",
    "handle null in {name}",
  ],
  questions: [
    "why does {name} never return?",
    "should we always load {file} first, or can it wait?",
    "is it a must that {mod} starts so early?",
    "haha i can't wait to see that",
  ],
  fillers: ["ok", "go on", "thanks!", "yes please", "looks good", "continue", "perfect, next"],
  chatter: [
    "Let me look at {file} first.",
    "Now I'll run the tests.",
    "Interesting, {name} is used in more places. Checking those.",
    "That should do; verifying.",
    "I need to see how {mod} calls this.",
  ],
  closings: [
    "Done. I updated `{file}` and the tests pass.",
    "I cleaned up `{file}`; nothing else had to change.",
    "Empty input is handled in `{file}` now. All {num} tests pass.",
    "`{file}` is shorter by {num} lines and does the same. Shall I go on with the next?",
    "The change in `{file}` is small: one guard and its test.",
  ],
};

export const german: Wordings = {
  stop: ". ",
  constraint: [
    "«der Endpunkt {mod} antwortet weiter in XML», der alte Client kann nichts anderes",
    "«{table} lesen wir nur», die Prüfer sehen sich jeden Schreibzugriff an",
    "«an {file} geht nur Maria»",
    "«{mod} läuft auch ohne Netz», das steht auf Schiffen",
    "«das Bundle von {mod} bleibt unter {num} kB»",
    "die Rechtsabteilung hat abgelehnt, also «kein {lib} in {mod}»",
    "«was {name} heute liefert, liefert es auch morgen», drei Partner hängen daran",
    "«{file} bleibt synchron», der Plugin-Host kann nicht warten",
    "«{mod} kommt mit {num} MB Speicher hoch», die Kunden haben alte Kisten",
    "«die Logs von {mod} laufen ausschließlich über {lib}»",
    "«in {mod} nie auf stdout schreiben», sonst bricht die Pipe",
    "«{host} ist Produktion, Finger weg»",
    "«Beträge in {table} sind Cent, ohne Ausnahme»",
    "«für unsignierte Dateien aus {mod} zahlen wir Strafe», also wird alles signiert",
  ],
  preference: [
    "«bitte kleine Commits, einen je Änderung in {mod}»",
    "«im Bericht von {mod} mag ich Tabellen lieber als Prosa»",
    "Klassen sind nicht so meins, «in {file} reichen Funktionen»",
    "«die Kommentare in {mod} kurz halten»",
    "«wenn {name} scheitert, erst das Log und dann die Erklärung»",
    "«die Tests von {mod} im Stil von {lib}»",
    "«Namen in {file} aus der Fachsprache»",
    "«den Diff von {file} vor jeder Erklärung»",
  ],
  decision: [
    "«der neue Dienst heißt {name}», Ana ist einverstanden",
    "gut, «für die Queue von {mod} nehmen wir {lib}», nur das kann Wiederholungen",
    "mit dem Betrieb besprochen: «{mod} bekommt eine eigene Datenbank»",
    "«Sitzungen liegen ab jetzt in {table}», Redis war zu teuer",
    "«das Flag heißt {mod}» und ist erst mal aus",
    "endgültig: «Daten in {mod} sind ISO mit Zone»",
    "dabei bleibt es, «{lib} wird dieses Jahr nicht ersetzt»",
    "mit dem Support vereinbart: «Fehler von {mod} gehen an {host}», nicht ins Postfach",
  ],
  fact: [
    "«die Staging-Datenbank läuft auf {host}»",
    "«{ticket} ist derselbe Fehler», schau dort",
    "«der Nachtlauf von {mod} dauert {num} Minuten»",
    "sie hat das alles geschrieben: «zu {mod} frag Priya»",
    "«{file} verteilt Ansible auf jeden Knoten»",
    "«der Pilotkunde hat den Vertrag {ticket}»",
    "«vor der Fusion hieß {mod} noch {name}»",
    "«überhaupt nur {num} Kunden nutzen {mod}»",
  ],
  todo: [
    "später «braucht {table} auch eine Migration»",
    "«vor dem Release fehlt noch die Doku zu {file}»",
    "«den Leuten von {mod} muss jemand von {ticket} erzählen»",
    "danach noch offen: «der tote Code in {file}»",
    "«die Lizenz von {lib} ist noch zu prüfen»",
    "«{name} bekommt in der nächsten Runde Metriken»",
  ],
  agentDecision: [
    "Ich habe mich für «{lib} als Parser in {mod}» entschieden, weil der eingebaute das Vorzeichen verliert.",
    "«Die Wiederholungen macht jetzt {name}», denn zwei Aufrufer taten es gleichzeitig.",
    "«Der Cache von {mod} hat {table} als Schlüssel» statt der URL: URLs hängen von der Sprache ab.",
    "Einen Worker-Pool habe ich verworfen: «{mod} bleibt bei einem Thread», das Kopieren kostete mehr.",
    "«{file} wird nun aus dem Schema erzeugt», damit beide Seiten gleich bleiben.",
    "Vorerst «sperrt {mod} die ganze {table}»; einzelne Zeilen würden sich mit dem Import verklemmen.",
    "Von beiden nahm ich die kleinere Änderung: «{name} wird nur aus {file} gerufen».",
    "{lib} blieb draußen: «{mod} formatiert Daten selbst», vierzig Zeilen statt zwei Megabyte.",
  ],
  agentFact: [
    "Die Ursache: «{name} rundet {num} ab, bevor verglichen wird».",
    "«{file} wird zweimal geladen, einmal über {mod}», daher die doppelten Einträge.",
    "«{table} hat keinen Index auf der Mandantenspalte»; ein Aufruf dauert {num} ms.",
    "Wie sich zeigt, «verschluckt {name} den Timeout von {host}».",
    "Gemessen: «{mod} bricht bei {num} offenen Verbindungen ein».",
    "«Die Sicherung von {table} liegt unter /var/backups/{mod}.sql.gz».",
    "«{ticket} tritt nur bei kaltem Cache von {mod} auf».",
    "«Das alte Format wird in {file}, Zeile {num} gelesen», sonst nirgends.",
  ],
  withdrawn: [
    "«der Import {mod} behält die Spaltenfolge der CSV»=>die CSV-Leute sind weg, «die Spaltenfolge in {mod} ist jetzt egal»",
    "«{file} bis Freitag in Ruhe lassen»=>«{file} ist wieder frei», mach damit, was du willst",
    "«diese Woche wird {mod} nicht ausgerollt»=>so, der Freeze ist vorbei, «{mod} darf raus»",
    "bitte «{name} kompatibel zum Plugin {lib} halten»=>vergiss das Plugin, «{lib} wird nicht mehr unterstützt»",
    "«was {mod} sendet, bleibt unter {num} Byte»=>das Modem ist getauscht, «{mod} darf senden, so viel es will»",
    "«in {mod} merged nur Jonas»=>Jonas ist zurück in seinem Team, «in {mod} darf jeder mergen»",
  ],
  changed: [
    "«das Gateway von {mod} lauscht auf {port}»=>{port} braucht der Betrieb selbst, «nimm {port2} für das Gateway von {mod}»",
    "«Uploads von {mod} werden {num}-mal wiederholt»=>«{num2} Wiederholungen für Uploads von {mod}», {num} war zu wenig",
    "«der Exporter heißt {name}»=>gefällt mir nicht mehr, «benenne den Exporter in {name2} um»",
    "«CSV liest {mod} mit {lib}»=>doch nicht, «{mod} liest CSV mit {lib2}»",
    "«Cache-Einträge von {mod} leben {num} Sekunden»=>«{num2} Sekunden für Cache-Einträge von {mod}», nicht {num}",
    "«Sicherungen von {mod} bleiben {num} Tage»=>die Juristen wollen mehr: «{num2} Tage Sicherungen für {mod}»",
  ],
  finished: [
    "danach «fehlt {file} noch ein Test für leere Eingaben»=>«Der Test für leere Eingaben von {file} steht» und läuft.",
    "«erinnere mich daran, {lib} auf {num} zu heben»=>Du wolltest erinnert werden: «{lib} steht jetzt auf {num}».",
    "«das Changelog von {mod} hat noch keine Zeile»=>«Im Changelog von {mod} steht es nun».",
  ],
  steps: [
    "{name} aus {file} herauslösen",
    "{lib} in {mod} ersetzen",
    "Test für {table} schreiben",
    "{mod} unter Last messen",
  ],
  mended: [
    "«`{command}` ist wieder grün».",
    "Damit «läuft `{command}` durch».",
    "Behoben, «`{command}` klappt jetzt».",
  ],
  asides: ["übrigens, ", "ach ja, ", "", "", "noch was: ", "bevor ich es vergesse: "],
  requests: [
    "schau mal, warum {file} so langsam ist",
    "schreib einen Test für den leeren Fall in {file}",
    "{file} ist unordentlich, räum das auf",
    "jetzt {name} in {file} einhängen",
    "zeig mir den Diff von {file}",
    "der Helfer in {file} braucht einen besseren Namen",
    "{name} gibt es in {file} doppelt, einer muss weg",
    "teile {file} auf, die ist zu lang",
    "fang null in {name} ab",
  ],
  questions: [
    "warum kommt {name} nie zurück?",
    "soll {file} immer zuerst geladen werden oder geht das später?",
    "muss {mod} so früh starten?",
    "haha, darauf bin ich gespannt",
  ],
  fillers: ["ok", "weiter", "danke!", "ja bitte", "sieht gut aus", "mach weiter", "super, nächster Punkt"],
  chatter: [
    "Ich sehe mir zuerst {file} an.",
    "Jetzt lasse ich die Tests laufen.",
    "Interessant, {name} wird öfter benutzt. Ich prüfe die Stellen.",
    "Das sollte reichen, ich prüfe es.",
    "Ich muss sehen, wie {mod} das aufruft.",
  ],
  closings: [
    "Erledigt. `{file}` ist angepasst, die Tests laufen.",
    "`{file}` ist aufgeräumt; sonst musste sich nichts ändern.",
    "Leere Eingaben behandelt `{file}` jetzt. Alle {num} Tests sind grün.",
    "`{file}` ist um {num} Zeilen kürzer und tut dasselbe. Soll ich weitermachen?",
    "Die Änderung in `{file}` ist klein: eine Prüfung und ihr Test.",
  ],
};

export const french: Wordings = {
  stop: ". ",
  constraint: [
    "«le point d'accès {mod} répond toujours en XML», l'ancien client ne sait rien faire d'autre",
    "«on ne fait que lire {table}», les auditeurs regardent chaque écriture",
    "«seule Maria touche à {file}»",
    "«{mod} tourne aussi sans réseau», c'est installé sur des bateaux",
    "«le paquet de {mod} reste sous {num} ko»",
    "le juridique a refusé, donc «pas de {lib} dans {mod}»",
    "«ce que {name} renvoie aujourd'hui, il le renvoie demain», trois partenaires en dépendent",
    "«{file} reste synchrone», l'hôte des greffons ne sait pas attendre",
    "«{mod} démarre avec {num} Mo de mémoire», les clients ont de vieilles machines",
    "«les logs de {mod} passent par {lib} et par rien d'autre»",
    "«jamais d'écriture sur stdout dans {mod}», le tube casse",
    "«{host} c'est la production, on n'y touche pas»",
    "«les montants de {table} sont en centimes, sans exception»",
    "«un fichier non signé de {mod} nous coûte une amende», donc tout est signé",
  ],
  preference: [
    "«des petits commits, un par changement dans {mod}»",
    "«j'aime mieux des tableaux que de la prose dans le rapport de {mod}»",
    "les classes ce n'est pas mon truc, «de simples fonctions dans {file}»",
    "«des commentaires courts dans {mod}»",
    "«quand {name} échoue, d'abord le log et ensuite l'explication»",
    "«les tests de {mod} dans le style de {lib}»",
    "«les mots du métier pour les noms dans {file}»",
    "«le diff de {file} avant toute explication»",
  ],
  decision: [
    "«le nouveau service s'appelle {name}», Ana est d'accord",
    "bon, «on prend {lib} pour la file de {mod}», c'est le seul avec des reprises",
    "vu avec l'exploitation: «{mod} aura sa propre base»",
    "«les sessions vont dans {table} désormais», redis coûtait trop cher",
    "«le drapeau s'appelle {mod}» et il est éteint par défaut",
    "c'est arrêté, «les dates de {mod} sont en ISO avec le fuseau»",
    "on n'y revient pas, «{lib} n'est pas remplacé cette année»",
    "convenu avec le support: «les erreurs de {mod} vont vers {host}» et pas dans la boîte mail",
  ],
  fact: [
    "«la base de préproduction tourne sur {host}»",
    "«{ticket} est le même bug», regarde là-bas",
    "«le traitement de nuit de {mod} dure {num} minutes»",
    "c'est elle qui a tout écrit: «pour {mod} demande à Priya»",
    "«ansible copie {file} sur chaque nœud»",
    "«le client pilote a le contrat {ticket}»",
    "«{mod} s'appelait {name} avant la fusion»",
    "«seuls {num} clients utilisent {mod}»",
  ],
  todo: [
    "plus tard «{table} aura aussi besoin d'une migration»",
    "«avant la livraison il manque la doc de {file}»",
    "«quelqu'un doit parler de {ticket} aux gens de {mod}»",
    "il reste ensuite «le code mort de {file}»",
    "«la licence de {lib} est encore à vérifier»",
    "«{name} recevra ses métriques au prochain tour»",
  ],
  agentDecision: [
    "J'ai choisi «{lib} comme analyseur dans {mod}», car celui de base perd le signe.",
    "«Les reprises sont désormais dans {name}», puisque deux appelants les faisaient en même temps.",
    "«Le cache de {mod} a {table} pour clé» au lieu de l'URL: elle change avec la langue.",
    "J'ai essayé un pool et je l'ai abandonné: «{mod} reste sur un seul fil», copier coûtait plus.",
    "«{file} est maintenant généré depuis le schéma», pour que les deux côtés restent égaux.",
    "Pour l'instant «{mod} verrouille toute la {table}»; ligne par ligne, l'import bloquerait.",
    "Des deux j'ai pris le plus petit changement: «{name} n'est appelé que depuis {file}».",
    "J'ai laissé {lib} dehors: «{mod} formate ses dates lui-même», quarante lignes contre deux mégas.",
  ],
  agentFact: [
    "La cause: «{name} arrondit {num} avant de comparer».",
    "«{file} est chargé deux fois, dont une par {mod}», d'où les doublons.",
    "«{table} n'a pas d'index sur la colonne du locataire»; un appel prend {num} ms.",
    "En fait «{name} avale le délai de {host}».",
    "Mesuré: «{mod} casse à {num} connexions ouvertes».",
    "«La sauvegarde de {table} est dans /var/backups/{mod}.sql.gz».",
    "«{ticket} n'arrive que tant que le cache de {mod} est froid».",
    "«L'ancien format est lu dans {file}, ligne {num}», et nulle part ailleurs.",
  ],
  withdrawn: [
    "«l'import {mod} garde l'ordre des colonnes du csv»=>les gens du csv sont partis, «l'ordre des colonnes de {mod} est libre»",
    "«laisse {file} tranquille jusqu'à vendredi»=>«{file} est de nouveau libre», fais-en ce que tu veux",
    "«pas de déploiement de {mod} cette semaine»=>voilà, le gel est fini, «{mod} peut partir»",
    "merci de «garder {name} compatible avec le greffon {lib}»=>oublie le greffon, «{lib} n'est plus pris en charge»",
    "«ce que {mod} envoie reste sous {num} octets»=>le modem est changé, «{mod} envoie autant qu'il veut»",
    "«seul Jonas fusionne dans {mod}»=>Jonas a rejoint son équipe, «tout le monde fusionne dans {mod}»",
  ],
  changed: [
    "«la passerelle de {mod} écoute sur {port}»=>l'exploitation a besoin de {port}, «prends {port2} pour la passerelle de {mod}»",
    "«les envois de {mod} sont repris {num} fois»=>«{num2} reprises pour les envois de {mod}», {num} c'était peu",
    "«l'exporteur s'appelle {name}»=>ça ne me plaît plus, «renomme l'exporteur en {name2}»",
    "«{mod} lit le csv avec {lib}»=>finalement non, «{mod} passe à {lib2} pour le csv»",
    "«les entrées du cache de {mod} vivent {num} secondes»=>«{num2} secondes pour le cache de {mod}», pas {num}",
    "«les sauvegardes de {mod} sont gardées {num} jours»=>les juristes veulent plus: «{num2} jours de sauvegardes pour {mod}»",
  ],
  finished: [
    "après ça «il manque à {file} un test d'entrée vide»=>«Le test d'entrée vide de {file} est écrit» et passe.",
    "«rappelle-moi de passer {lib} en {num}»=>Tu voulais un rappel: «{lib} est maintenant en {num}».",
    "«on doit encore une ligne de changelog à {mod}»=>«Le changelog de {mod} a sa ligne».",
  ],
  steps: [
    "sortir {name} de {file}",
    "remplacer {lib} dans {mod}",
    "écrire un test pour {table}",
    "mesurer {mod} en charge",
  ],
  mended: [
    "«`{command}` est repassé au vert».",
    "Avec ça «`{command}` passe».",
    "Corrigé, «`{command}` va au bout maintenant».",
  ],
  asides: ["au fait, ", "ah et ", "", "", "encore une chose: ", "avant que j'oublie: "],
  requests: [
    "regarde pourquoi {file} est si lent",
    "ajoute un test du cas vide dans {file}",
    "{file} est en désordre, range-le",
    "maintenant branche {name} dans {file}",
    "montre-moi le diff de {file}",
    "la fonction d'aide de {file} mérite un meilleur nom",
    "{name} est en double dans {file}, enlèves-en un",
    "coupe {file}, c'est trop long",
    "traite null dans {name}",
  ],
  questions: [
    "pourquoi {name} ne revient jamais?",
    "faut-il toujours charger {file} en premier?",
    "est-ce que {mod} doit vraiment démarrer si tôt?",
    "haha, j'ai hâte de voir ça",
  ],
  fillers: ["ok", "continue", "merci!", "oui vas-y", "ça me va", "parfait, la suite", "d'accord"],
  chatter: [
    "Je regarde d'abord {file}.",
    "Je lance les tests maintenant.",
    "Intéressant, {name} sert à plus d'endroits. Je les vérifie.",
    "Cela devrait suffire, je vérifie.",
    "Il faut que je voie comment {mod} appelle ceci.",
  ],
  closings: [
    "Fait. `{file}` est à jour et les tests passent.",
    "`{file}` est rangé; rien d'autre n'a changé.",
    "L'entrée vide est traitée dans `{file}`. Les {num} tests passent.",
    "`{file}` a {num} lignes de moins et fait la même chose. Je continue?",
    "Le changement dans `{file}` est petit: une garde et son test.",
  ],
};
