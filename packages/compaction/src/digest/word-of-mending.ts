import { fold } from "./fold.ts";
import type { Statement } from "./statement.ts";

/** How people say that it works, at the start of what they say. */
const WORKS =
  /^(?:(?:ok|okay|ah|great|yes|yeah|super|gut|ja|bien|oui|vale|si|bom|sim|bene|да|о|отлично|好的|はい|네|ありがとう)[,!. ]+)*(?:it |that |this |es |das |ca |c'est |eso |isso |ora |adesso |jetzt |теперь |все |现在|これで|이제 ?)?(?:(?:now )?works?\b|working now|did it\b|that did it|did the trick|is fixed|fixed\b|is gone\b|geht(?: jetzt| wieder| nun)|lauft(?: jetzt| wieder)|klappt|funktioniert|marche|fonctionne|c'est bon|regle\b|ya (?:funciona|va|esta)|funciona|resuelto|agora (?:funciona|foi|vai)|ora (?:va|funziona)|va(?: adesso| ora)|funziona|risolto|(?:за)?работает|заработал|починил|好了|可以了|能用了|修好了|没问题了|動きました|動いた|動く|直りました|直った|治りました|됩니다|돼요|되네요|됐|잘 ?(?:돼|됩|되)|작동)/u;
/** Put aside by the user: what is finished next is something else. */
const LEFT =
  /\b(?:cause unknown|unknown cause|no idea why|leave (?:it|that)|ignore it|for now|someone else|not now|lass es|erstmal|vorerst|keine ahnung warum|laisse|pour l'instant|dejalo|por ahora|deixa|por enquanto|lasciamo|lascia stare|per ora)\b|пока остав|пока не трогай|потом разбер|先放|先不管|原因不明|とりあえず|保留|일단 보류|나중에/u;
const STILL =
  /\b(?:not|n't|still|but|only|nicht|noch|aber|pas|encore|mais|no|todavia|pero|nao|ainda|mas|non|ancora|ma)\b|(?<!\p{L})(?:не|но|еще)(?!\p{L})|不|没有|还|ない|ません|まだ|안|아직|지만/u;

/** A user's short word that all is well, naming nothing. */
export function saysItWorks({ speaker, folded, values, kind, language }: Statement): boolean {
  if (speaker !== "user" || kind === "question" || folded.length > 60) return false;
  if (values.some(({ type }) => type !== "name")) return false;
  const said = language === "zh" ? folded.replace(/没问题了/, "好了") : folded;
  return WORKS.test(said) && !STILL.test(said);
}

/** True for trouble that the user put aside. */
export function isLeft(text: string): boolean {
  return LEFT.test(fold(text));
}
