/**
 * How requests begin, folded: work that is asked for, and looks that are asked for and leave nothing behind. Only the
 * start of a sentence counts, after words that merely open it.
 */
const OPENERS =
  "ok okay alright great cool now then next so and also hey hi well good perfect nice yes yeah yep please pls dude hmm hmmm gut gern dann jetzt und also bitte mal bon alors et maintenant ensuite puis vale bueno ahora luego y entonces ok entao agora e depois allora ora adesso poi ну ладно так теперь а и потом пожалуйста";
const DO =
  "fix add create write make update implement refactor commit push build start finish use put get give help move set change adjust modify copy undo revert merge release deploy install clean extend improve document port convert migrate wire hook generate split extract rename replace tidy remove delete kill do bau schreib fuge mach erstell erstelle andere andre repariere ersetze losche raum baue nimm setz setze ajoute cree ecris corrige modifie supprime remplace nettoie range mets fais installe anade agrega crea escribe arregla corrige cambia borra ordena limpia pon haz instala adicione crie escreva corrija mude arrume aggiungi scrivi correggi cambia sistema metti fai добавь создай напиши исправь сделай реализуй поменяй измени удали приведи почини настрой обнови";
const LOOK =
  "read run rerun sleep wait show check look open test explain continue try search list print tell describe think analyze analyse find review investigate debug lies zeig schau guck pruf prufe teste starte lass erklar erklare weiter lis montre regarde lance relance verifie explique cherche lee muestra mira ejecuta revisa explica busca ensename leia mostre veja rode leggi mostra controlla esegui spiega guarda прочитай покажи посмотри запусти проверь объясни глянь найди продолжай";
const PHRASES =
  /^(?:(?:can|could|would|will) (?:you|we)|let's|lets|let us|i(?:'d| would)? (?:want|need|like) (?:you )?to|we (?:need|have|want) to|kannst du|konntest du|peux-tu|pouvez-vous|tu peux|puedes|podrias|pode|puoi)\s/;
const WIDE_DO = /^(?:请|帮我|帮忙|给|加一个|写一个|实现|修复|整理|把|新建|添加|修改|更新)/;
const WIDE_LOOK = /^(?:看看|看一下|读一下|跑一下|再跑|检查|继续|给我看|解释|说明一下|运行)/;
const WIDE_LOOK_END =
  /(?:見せて|見て|読んで|実行して|続けて|教えて|説明して|確認して|見てもらえますか|보여|봐|읽어|실행|설명)[^、。]{0,6}[。.!]?$/u;
const WIDE_DO_END = /(?:してください|して下さい|してほしい|お願いします|해 주세요|해주세요|해줘)[。.!]?$/u;

const openers = new Set(OPENERS.split(" "));
const doing = new Set(DO.split(" "));
const looking = new Set(LOOK.split(" "));

/** Whether a folded sentence asks for work, only for a look, or for nothing. */
export function requestOf(folded: string): "do" | "look" | undefined {
  if (WIDE_LOOK.test(folded) || WIDE_LOOK_END.test(folded)) return "look";
  if (WIDE_DO.test(folded) || WIDE_DO_END.test(folded)) return "do";
  const phrase = PHRASES.exec(withoutOpeners(folded));
  const rest = withoutOpeners(folded).slice(phrase?.[0].length ?? 0);
  const verb = /^\p{L}+/u.exec(withoutOpeners(rest))?.[0] ?? "";
  if (looking.has(verb) && !/^(?:let|we)/.test(phrase?.[0] ?? "")) return "look";
  return doing.has(verb) || phrase !== null ? "do" : undefined;
}

function withoutOpeners(folded: string): string {
  let rest = folded;
  for (
    let match = /^(\p{L}+)[,!.]*\s+/u.exec(rest);
    match !== null && openers.has(match[1]!);
    match = /^(\p{L}+)[,!.]*\s+/u.exec(rest)
  )
    rest = rest.slice(match[0].length);
  return rest;
}
