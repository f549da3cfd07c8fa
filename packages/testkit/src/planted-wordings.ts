/** What is planted into a session. */
export type PlantKind = "constraint" | "preference" | "decision" | "change" | "fact" | "todo";

/**
 * How people of one language say things. `«…»` marks the words that must survive; `{slot}`s are filled by the
 * generator. A change has two parts, divided by `=>`: what is said first and what replaces it later.
 */
export interface Wordings {
  plants: Record<PlantKind, readonly string[]>;
  /** Requests of everyday work, around which the plants are said in passing. */
  requests: readonly string[];
  /** Look like plants and are none. */
  lookAlikes: readonly string[];
  /** The assistant's closing words; `{file}` is the file of the turn. */
  answers: readonly string[];
}

export const english: { tuned: Wordings; heldOut: Wordings["plants"] } = {
  tuned: {
    plants: {
      constraint: [
        "by the way «we can't use {lib}», legal won't sign off on it",
        "and «never write to {table}», other teams read from it",
        "«everything in {file} must stay synchronous», the plugin host can't await",
        "oh and «no new dependencies in {mod} please»",
        "«responses have to stay under {num} ms», that's in the contract",
        "«don't touch {file}», it is generated",
        "only thing: «only use {lib} for logging», nothing else gets through audit",
        "dude «{mod} must NEVER print to stdout», it breaks the pipe",
      ],
      preference: [
        "«I prefer small commits, one per {mod} change»",
        "«i'd rather have {lib} style assertions» in the tests",
        "«please keep the comments in {mod} short»",
        "not a fan of classes, «plain functions in {file} if possible»",
      ],
      decision: [
        "ok let's go with «{name} as the name of the new service»",
        "we'll use «{lib} for the date handling»",
        "decided: «{mod} gets its own package»",
      ],
      change: [
        "let's «run the gateway on port {port}» for now=>hmm, {port} is taken on the build boxes, «use {port2} instead»",
        "we'll «call the scheduler class {name}»=>on second thought «rename the scheduler to {name2}»",
        "«the retry limit of the uploader is {num}»=>«bump the uploader's retry limit to {num2}», {num} was too low",
        "«use {lib} for parsing csv»=>scrap {lib}, «we switch to {lib2} for parsing csv»",
      ],
      fact: [
        "fyi «the staging database runs on {host}»",
        "«the customer's tenant id is {ticket}», you'll need it for the repro",
        "for context: «{mod} is owned by the payments team», ask there",
        "«the nightly job in {mod} takes about {num} minutes»",
      ],
      todo: [
        "later «we also need to migrate {table}»",
        "don't forget «to update {file} before the release»",
        "still to do after this: «document {name} in the handbook»",
      ],
    },
    requests: [
      "can you look at why {file} is slow?",
      "add a test for the empty case in {file}",
      "run the tests again",
      "the layout of {file} is odd, tidy it up",
      "explain what {file} does",
      "ok continue",
      "now wire it into {file}",
      "show me the diff of {file}",
    ],
    lookAlikes: [
      "never mind, found it",
      "no problem, take your time",
      "i must say this looks great",
      "haha i can't wait to see it",
      "that was always a mystery to me",
      "why would it never return?",
      "don't worry about that one",
      "i never knew that was in there",
    ],
    answers: [
      "Done. I updated `{file}` and the tests pass.",
      "I cleaned up `{file}`; nothing else had to change.",
      "Fixed the handling of empty input in `{file}`.",
      "I added the missing case to `{file}` and ran the suite.",
    ],
  },
  heldOut: {
    constraint: [
      "one thing our auditors insist on: «{table} stays read-only for this service»",
      "keep in mind «the bundle may not exceed {num} kB», the CDN rejects anything above",
      "«hands off {file}», Maria is rewriting it",
      "whatever you do, «leave the public API of {name} alone»",
      "this ships to phones, so «{mod} has to work without a network»",
      "«avoid {lib}», we got burned by it last year",
      "customers are on old servers, «{name} should still run on node {num}»",
      "«secrets never go into {file}», not even fake ones",
    ],
    preference: [
      "personally «i like tables better than prose in the {mod} report»",
      "my taste: «early returns over nested ifs in {file}»",
      "when you write to me «skip the pleasantries and start with {mod}»",
      "«tabs, not spaces, in {file}»",
    ],
    decision: [
      "alright, final: «we store the sessions in {table}»",
      "I talked to Ana and «{lib} it is for the queue»",
      "«the feature flag will be {mod}», go ahead with that",
    ],
    change: [
      "«the metrics endpoint listens on {port}»=>ops moved things around: «metrics endpoint is on {port2} now»",
      "«name the exporter {name}»=>I don't like {name} any more, «make the exporter {name2}»",
      "«cache entries live for {num} seconds»=>«cache entries should live {num2} seconds, not {num}»",
      "«we deploy the worker with {lib}»=>we dropped {lib} for deploys, «the worker goes out with {lib2} from now on»",
    ],
    fact: [
      "in case it helps, «prod traffic comes in through {host}»",
      "turns out «{ticket} is the same bug»",
      "the guy who wrote {mod} left, «Priya knows {mod} best»",
      "«{file} gets copied to every node by ansible»",
    ],
    todo: [
      "once this works «someone has to clean out {table}»",
      "remind me «that {name} needs a changelog entry»",
      "not today, but «{file} should get split up»",
    ],
  },
};

export const german: { tuned: Wordings; heldOut: Wordings["plants"] } = {
  tuned: {
    plants: {
      constraint: [
        "übrigens, «{lib} dürfen wir nicht verwenden», die Lizenz passt nicht",
        "und «schreib niemals direkt in {table}»",
        "«{file} muss synchron bleiben», der Host kann nicht warten",
        "«keine neuen Abhängigkeiten in {mod}» bitte",
        "«die Antwortzeit muss unter {num} ms bleiben»",
      ],
      preference: [
        "«mir sind kleine Commits in {mod} lieber»",
        "«ich bevorzuge {lib} für die Tests»",
        "«bitte die Kommentare in {file} kurz halten»",
      ],
      decision: ["ok, «wir nehmen {lib} für die Datumslogik»", "entschieden: «{mod} wird ein eigenes Paket»"],
      change: [
        "«das Gateway läuft erst mal auf Port {port}»=>{port} ist belegt, «nimm stattdessen {port2}»",
        "«die Klasse für den Planer heißt {name}»=>doch lieber anders: «den Planer in {name2} umbenennen»",
        "«das Limit für Wiederholungen beim Upload ist {num}»=>«das Limit für Wiederholungen beim Upload auf {num2} erhöhen»",
      ],
      fact: [
        "zur Info: «die Staging-Datenbank läuft auf {host}»",
        "«die Kundennummer ist {ticket}», die brauchst du zum Nachstellen",
        "«{mod} gehört dem Zahlungsteam»",
      ],
      todo: [
        "später «müssen wir noch {table} migrieren»",
        "vergiss nicht, «{file} vor dem Release zu aktualisieren»",
      ],
    },
    requests: [
      "kannst du schauen, warum {file} so langsam ist?",
      "schreib einen Test für den leeren Fall in {file}",
      "lass die Tests noch mal laufen",
      "räum bitte {file} auf",
      "ok weiter",
      "zeig mir den Diff von {file}",
    ],
    lookAlikes: [
      "kein Problem, lass dir Zeit",
      "ich muss sagen, das sieht gut aus",
      "das habe ich nie verstanden",
      "warum kommt da nie etwas zurück?",
      "keine Sorge, das passt schon",
      "vielen Dank, wie immer super",
    ],
    answers: [
      "Erledigt. Ich habe `{file}` angepasst, die Tests laufen durch.",
      "Ich habe `{file}` aufgeräumt, sonst hat sich nichts geändert.",
      "Der leere Fall in `{file}` ist behandelt.",
    ],
  },
  heldOut: {
    constraint: [
      "unsere Revision besteht darauf: «{table} bleibt für diesen Dienst nur lesbar»",
      "«Finger weg von {file}», das baut Jonas gerade um",
      "das läuft auf dem Handy, also «{mod} hat ohne Netz zu funktionieren»",
      "«{lib} kommt mir nicht ins Haus», damit hatten wir nur Ärger",
      "«mehr als {num} kB darf das Bundle nicht haben»",
    ],
    preference: [
      "«Tabellen finde ich im Bericht von {mod} übersichtlicher als Text»",
      "«in {file} gerne frühe Returns statt verschachtelter ifs»",
    ],
    decision: [
      "gut, endgültig: «die Sitzungen liegen in {table}»",
      "mit Ana besprochen, «für die Warteschlange wird es {lib}»",
    ],
    change: [
      "«der Metrik-Endpunkt hört auf {port}»=>die Technik hat umgestellt, «der Metrik-Endpunkt ist jetzt auf {port2}»",
      "«Cache-Einträge leben {num} Sekunden»=>«Cache-Einträge sollen {num2} statt {num} Sekunden leben»",
      "«der Exporter soll {name} heißen»=>«den Exporter nennen wir doch {name2}»",
    ],
    fact: [
      "falls es hilft: «der Produktivverkehr kommt über {host} rein»",
      "wie sich zeigt, «ist {ticket} derselbe Fehler»",
    ],
    todo: [
      "wenn das steht, «sollte mal jemand {table} ausmisten»",
      "«für {name} fehlt noch ein Eintrag im Changelog»",
    ],
  },
};

export const french: { tuned: Wordings; heldOut: Wordings["plants"] } = {
  tuned: {
    plants: {
      constraint: [
        "au fait, «on ne peut pas utiliser {lib}», le juridique refuse",
        "et «n'écris jamais directement dans {table}»",
        "«{file} doit rester synchrone», l'hôte ne sait pas attendre",
        "«pas de nouvelles dépendances dans {mod}» s'il te plaît",
        "«les réponses doivent rester sous {num} ms»",
      ],
      preference: [
        "«je préfère des petits commits dans {mod}»",
        "«j'aimerais mieux {lib} pour les tests»",
        "«si possible des fonctions simples dans {file}»",
      ],
      decision: ["bon, «on part sur {lib} pour les dates»", "c'est décidé : «{mod} aura son propre paquet»"],
      change: [
        "«la passerelle tourne sur le port {port}» pour l'instant=>{port} est déjà pris, «utilise plutôt {port2}»",
        "«la classe du planificateur s'appelle {name}»=>finalement, «renomme le planificateur en {name2}»",
        "«la limite de tentatives d'envoi est {num}»=>«passe la limite de tentatives d'envoi à {num2}»",
      ],
      fact: [
        "pour info «la base de préproduction tourne sur {host}»",
        "«l'identifiant du client est {ticket}», il t'en faudra un pour reproduire",
        "«{mod} appartient à l'équipe paiement»",
      ],
      todo: [
        "plus tard «il faudra aussi migrer {table}»",
        "n'oublie pas «de mettre à jour {file} avant la release»",
      ],
    },
    requests: [
      "peux-tu regarder pourquoi {file} est si lent ?",
      "ajoute un test pour le cas vide dans {file}",
      "relance les tests",
      "nettoie un peu {file}",
      "ok continue",
      "montre-moi le diff de {file}",
    ],
    lookAlikes: [
      "pas de problème, prends ton temps",
      "je dois dire que c'est beau",
      "je n'ai jamais compris ça",
      "pourquoi ça ne renvoie jamais rien ?",
      "t'inquiète, ça ira",
      "merci, comme toujours parfait",
    ],
    answers: [
      "C'est fait. J'ai modifié `{file}` et les tests passent.",
      "J'ai nettoyé `{file}`, rien d'autre n'a changé.",
      "Le cas vide de `{file}` est géré.",
    ],
  },
  heldOut: {
    constraint: [
      "l'audit y tient : «{table} reste en lecture seule pour ce service»",
      "«ne mets pas les mains dans {file}», Claire est en train de le réécrire",
      "ça part sur mobile, donc «{mod} fonctionne sans réseau, c'est impératif»",
      "«{lib}, on n'en veut plus», trop d'ennuis l'an dernier",
      "«le bundle ne dépasse pas {num} ko», sinon le CDN le rejette",
    ],
    preference: [
      "«je trouve les tableaux plus clairs que la prose dans le rapport {mod}»",
      "«plutôt des retours anticipés que des if imbriqués dans {file}»",
    ],
    decision: [
      "allez, définitif : «les sessions vont dans {table}»",
      "vu avec Ana, «ce sera {lib} pour la file d'attente»",
    ],
    change: [
      "«l'endpoint des métriques écoute sur {port}»=>les ops ont tout déplacé, «l'endpoint des métriques est maintenant sur {port2}»",
      "«les entrées du cache vivent {num} secondes»=>«les entrées du cache vivront {num2} secondes au lieu de {num}»",
      "«l'exporteur s'appellera {name}»=>«appelons plutôt l'exporteur {name2}»",
    ],
    fact: [
      "si ça peut aider, «le trafic de prod arrive par {host}»",
      "il s'avère que «{ticket} est le même bug»",
    ],
    todo: [
      "une fois que ça marche, «quelqu'un devra vider {table}»",
      "«il manque une entrée de changelog pour {name}»",
    ],
  },
};

export const spanish: { tuned: Wordings; heldOut: Wordings["plants"] } = {
  tuned: {
    plants: {
      constraint: [
        "por cierto, «no podemos usar {lib}», legal no lo aprueba",
        "y «nunca escribas directamente en {table}»",
        "«{file} tiene que seguir siendo síncrono», el host no sabe esperar",
        "«nada de dependencias nuevas en {mod}» por favor",
        "«las respuestas deben quedar por debajo de {num} ms»",
      ],
      preference: [
        "«prefiero commits pequeños en {mod}»",
        "«me gusta más {lib} para las pruebas»",
        "«si es posible, funciones simples en {file}»",
      ],
      decision: ["vale, «vamos con {lib} para las fechas»", "decidido: «{mod} tendrá su propio paquete»"],
      change: [
        "«la pasarela corre en el puerto {port}» por ahora=>{port} está ocupado, «usa mejor el {port2}»",
        "«la clase del planificador se llama {name}»=>pensándolo bien, «renombra el planificador a {name2}»",
        "«el límite de reintentos de subida es {num}»=>«sube el límite de reintentos de subida a {num2}»",
      ],
      fact: [
        "para que sepas, «la base de datos de staging corre en {host}»",
        "«el identificador del cliente es {ticket}», te hará falta",
        "«{mod} pertenece al equipo de pagos»",
      ],
      todo: ["más tarde «habrá que migrar {table}»", "no olvides «actualizar {file} antes del lanzamiento»"],
    },
    requests: [
      "¿puedes mirar por qué {file} va tan lento?",
      "añade una prueba para el caso vacío en {file}",
      "ejecuta las pruebas otra vez",
      "ordena un poco {file}",
      "ok continúa",
      "enséñame el diff de {file}",
    ],
    lookAlikes: [
      "no hay problema, tómate tu tiempo",
      "debo decir que queda genial",
      "nunca había visto eso",
      "¿por qué nunca devuelve nada?",
      "no te preocupes por eso",
      "gracias, como siempre perfecto",
    ],
    answers: [
      "Listo. He actualizado `{file}` y las pruebas pasan.",
      "He ordenado `{file}`; no ha cambiado nada más.",
      "El caso vacío de `{file}` ya está tratado.",
    ],
  },
  heldOut: {
    constraint: [
      "auditoría insiste: «{table} es de solo lectura para este servicio»",
      "«ni tocar {file}», lo está reescribiendo Marta",
      "esto va a móviles, así que «{mod} ha de funcionar sin red»",
      "«{lib} ni en pintura», ya nos dio bastante guerra",
      "«el bundle no puede pasar de {num} kB», el CDN lo rechaza",
    ],
    preference: [
      "«las tablas me parecen más claras que el texto en el informe de {mod}»",
      "«mejor retornos tempranos que ifs anidados en {file}»",
    ],
    decision: [
      "venga, definitivo: «las sesiones se guardan en {table}»",
      "lo hablé con Ana y «para la cola será {lib}»",
    ],
    change: [
      "«el endpoint de métricas escucha en {port}»=>los de operaciones lo movieron, «el endpoint de métricas está ahora en {port2}»",
      "«las entradas de caché viven {num} segundos»=>«las entradas de caché vivirán {num2} segundos en vez de {num}»",
      "«el exportador se llamará {name}»=>«al exportador mejor llamémoslo {name2}»",
    ],
    fact: [
      "por si ayuda, «el tráfico de producción entra por {host}»",
      "resulta que «{ticket} es el mismo fallo»",
    ],
    todo: [
      "cuando esto funcione, «alguien tiene que vaciar {table}»",
      "«falta una entrada del changelog para {name}»",
    ],
  },
};
