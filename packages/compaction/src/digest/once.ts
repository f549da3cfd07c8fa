import { requestOf } from "./requests.ts";

/** How people ask to look after something once, in any clause of a sentence. */
const LOOK_CLAUSE =
  /(?:^|[,;:.!(–—-]\s*|\b(?:pls|plz|please|bitte|and|und|et|y|e)\s)(?:(?:pls|plz|please|bitte|just|mal|kurz|can you|could you)\s+)*(?:see (?:what|why|if)|what's (?:up|wrong)|(?:check|inspect|investigate|debug|look (?:at|into)|have a look|take a look|find out)\b|any idea|schau|guck|sieh|pruf|regarde|jette un|verifie|mira|echale|revisa|comprueba|olha|da uma olhada|verifica|ve o que|guarda|dai un'occhiata|controlla|глянь|посмотри|проверь)/u;
const WIDE_LOOK =
  /看看|看一下|查一下|修一下|检查|見て(?:ください|くれ|もらえ)|確認して(?:ください|くれ)|(?:봐|확인해) ?(?:줘|주세요|줄래)/u;
/** "Never stops" says how a thing behaves; "never stop it" forbids. */
const SYMPTOM =
  /\b(?:never|always)\s(?:(?!has\b|does\b|is\b)\p{L}+[^s\P{L}]s|ends up|comes up|gets)\b|\b(?:nie|niemals|immer|jamais|toujours|nunca|jamas|siempre|sempre|mai)\b|никогда|всегда|总是|从不|いつも|항상/u;
const ORDERS =
  /\b(?:must|mustn't|don't|dont|do not|cannot|can't|has to|have to|no more|darf|durfen|muss|doit|doivent|debe|deben|deve|devono|devem)\b|нельзя|должн|不要|必须|禁止|ないで|必ず|반드시|절대/u;
/** Told with a laugh, heard from others, or of a world that is not: no rule for the work. */
const JOKES =
  /\b(?:lol|lmao|haha+h?|hehe|jk|just kidding|mdr|ptdr|jaja+|kkk+|rsrs+)\b|哈哈|(?:笑|www)$|ㅋㅋ|ㅎㅎ/u;
const HEARSAY =
  /^(?:\p{L}+[,]? )?(?!we |i )\p{L}+ (?:once|used to|always) (?:said|say|told|claimed|believed|thought)\b/u;
const COUNTERFACTUAL =
  /(?:^|[(:] ?)(?:\p{L}+[,]? )?(?:if (?:we|i|it|they|this|you) (?:were|was)\b.*\b(?:would|\p{L}+'d)\b|wenn (?:wir|ich|es) .*(?:waren|ware|hatte)|si (?:on|nous|c'|j')\s?(?:etai|avai)|si fuera|se (?:fosse|fossemos|fossimo)|если бы)/u;
const POLITE_ALONE =
  /\b(?:pls|plz|please|bitte|stp|svp|por favor|porfa|per favore)\b|пожалуйста|请|麻烦|ください|お願い|주세요|부탁/u;
const STRONGER_OUGHT =
  /\b(?:should|shall|need|needs|only|make sure|be sure|ensure|want|every|each|keep|careful|important|soll|sollte|achte|nur|il faut|faudrait|veille|deberia|cuida|asegura|deveria|dovrebbe|solo)\b/u;

/** A look at one thing, asked for with a complaint or a polite word: no standing rule. */
export function isOneOff(own: string): boolean {
  if (!LOOK_CLAUSE.test(own) && !WIDE_LOOK.test(own)) return false;
  return !ORDERS.test(own) || (SYMPTOM.test(own) && !ORDERS.test(own.replace(SYMPTOM, " ")));
}

/** No rule for the work, whatever words of rule it has. */
export function isNotMeant(folded: string): boolean {
  return JOKES.test(folded) || HEARSAY.test(folded) || COUNTERFACTUAL.test(folded);
}

/** Some clause asks for work, and nothing but a polite word sounds like a rule. */
export function asksPolitely(own: string): boolean {
  if (STRONGER_OUGHT.test(own)) return false;
  return (
    POLITE_ALONE.test(own) &&
    own.split(/[,;，、。(（]\s?/u).some((clause) => requestOf(clause.trim()) !== undefined)
  );
}
