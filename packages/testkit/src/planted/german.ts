import type { Wordings } from "./wordings.ts";

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
