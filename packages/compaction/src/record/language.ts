/**
 * The closed-class words that a rule is said with ("never", "only", "must not"), of many languages in one list. They decide
 * nothing but what is clipped last; what is said without any of them is carried all the same.
 */
const SPACED = [
  "no not never none nor without don't doesn't mustn't can't cannot won't shouldn't dont only always must every instead except unless",
  "nein nicht nie niemals kein keine keinen keinem keiner ohne nur immer muss müssen soll sollen jede jeder jedes statt außer",
  "non ne pas jamais aucun aucune sans seulement toujours doit doivent chaque uniquement sauf",
  "nunca jamás ningún ninguna sin solo sólo siempre debe deben cada salvo",
  "não nunca nenhum nenhuma sem somente sempre deve devem apenas exceto",
  "non mai nessun nessuna senza solo sempre deve devono ogni tranne",
  "nee niet nooit geen zonder alleen altijd moet moeten elke behalve",
  "nie nigdy żaden bez tylko zawsze musi każdy oprócz",
  "nej nei inte aldrig ingen utan bara alltid måste ikke aldri uten kun altid skal",
  "не нет никогда нельзя без только всегда должен должна должно должны каждый кроме вместо",
  "ні ніколи не можна без тільки лише завжди повинен кожен крім",
  "hayır değil asla yok hiç olmadan sadece yalnızca her zaman",
  "لا لن لم ليس أبدا أبدًا دون بدون فقط دائما دائمًا يجب كل إلا",
  "לא אף אין בלי רק תמיד חייב כל",
  "नहीं मत कभी बिना केवल सिर्फ हमेशा हर",
  "không đừng chưa chỉ luôn phải mọi",
].flatMap((words) => words.split(" "));

/** Where words are not set apart: anywhere in the text. */
const UNSPACED = [
  "不 别 没 勿 无 只 必须 总是 永远 每 禁止 除非",
  "いいえ ない ません なく 禁止 だけ のみ 必ず 常に すべて 絶対",
  "아니 않 말 못 없 만 항상 반드시 모든 절대",
  "ไม่ ห้าม อย่า เท่านั้น เสมอ ต้อง",
].flatMap((words) => words.split(" "));

const RULE_WORD = new RegExp(`(?<!\\p{L})(?:${SPACED.join("|")})(?!\\p{L})|${UNSPACED.join("|")}`, "iu");

/** True for a statement that forbids, demands or generalises, as far as its smallest words show it. */
export function soundsLikeRule(text: string): boolean {
  return RULE_WORD.test(text.replaceAll("’", "'"));
}
