import type { Wordings } from "./wordings.ts";

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
