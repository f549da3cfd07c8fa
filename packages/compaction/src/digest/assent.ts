import { fold } from "./fold.ts";
import { gist } from "./gist.ts";
import type { Statement } from "./statement.ts";

/** A proposal of the assistant that the user took: the assent alone says nothing later. */
export interface Agreement {
  /** The user's assent. */
  assent: Statement;
  /** What was agreed on; undefined where no proposal was found. */
  text: string | undefined;
}

/** How people agree to what was proposed, at the start of what they say. */
const ASSENT =
  /^(?:(?:ok|okay|yes|yeah|yep|alright|fine|sure|good|great|sounds good|ja|gut|oui|d'accord|si|vale|sim|va bene|да|хорошо|好|好的|行|はい|いいね|네|좋아요?)[,.! ]+)*(?:go (?:with|for) (?:your|that|the) (?:suggestion|proposal|recommendation|idea|one|option)|go with (?:yours|that|it)|agreed\b|do (?:that|as you (?:say|suggest\w*|propos\w*))|your (?:suggestion|proposal|recommendation|call)|as you (?:suggest|propose|recommend)|take (?:your|that|the) |(?:option|variant|the)? ?(?:\(?[1-4a-d]\)|option [1-4a-d]\b|(?:first|second|third|former|latter) (?:one|option))|einverstanden|(?:mach|nimm) (?:das|es|deinen|den) ?(?:so|vorschlag)?|dein vorschlag|wie (?:du vorschlagst|vorgeschlagen)|d'accord|(?:fais|prends|suis) (?:comme|ta|ton)|va pour|de acuerdo|haz(?:lo)? (?:eso|asi|como)|como (?:propones|sugieres|dices)|tu propuesta|concordo|(?:faz|faca) (?:isso|assim|como)|sua sugestao|d'accordo|fai (?:cosi|come)|la tua proposta|соглас|давай (?:так|твой|как)|делай (?:так|как)|твой вариант|同意|就按你|按你说|就这么|听你的|賛成|その案|それで(?:お願い|いき|行き)|提案どおり|동의|그렇게|제안대로)/u;
const RECOMMENDS =
  /\b(?:i(?:'d| would)? (?:recommend|suggest|propose|prefer|lean|pick|choose|opt|take|go (?:with|for)|use|vote)|my (?:suggestion|recommendation|proposal|pick|vote)|we could|ich wurde|ich empfehle|ich schlage|mein vorschlag|je (?:recommande|propose|prendrais|choisirais|conseille)|recomiendo|propongo|sugiero|yo (?:usaria|tomaria|elegiria)|recomendo|proponho|sugiro|eu (?:usaria|escolheria|iria)|consiglio|propongo|suggerisco|sceglierei|userei)\b|предлагаю|рекомендую|советую|я бы|建议|推荐|我会选|おすすめ|提案|お勧め|良いと思|いいと思|추천|제안|좋겠/u;
const MAX_CHARS = 220;
const MAX_ASSENT_CHARS = 90;

/** The agreements of a conversation, in order. */
export function agreementsOf(statements: readonly Statement[]): Agreement[] {
  let answer: Statement[] = [];
  let opened = -1;
  const found: Agreement[] = [];
  for (const statement of statements) {
    if (statement.speaker === "assistant") {
      if (answer[0]?.order !== statement.order) answer = [];
      answer.push(statement);
    } else if (statement.order !== opened) {
      opened = statement.order;
      if (isAssent(statement)) found.push({ assent: statement, text: proposalIn(answer, statement.folded) });
    }
  }
  return found;
}

function isAssent({ text, folded, kind }: Statement): boolean {
  return kind !== "question" && text.length <= MAX_ASSENT_CHARS && ASSENT.test(folded);
}

/** The option that was named, or the one that was recommended, with the reason given. */
function proposalIn(answer: readonly Statement[], assent: string): string | undefined {
  const advice = answer.findLast((one) => RECOMMENDS.test(one.folded) && !/[?？]\s*$/.test(one.text));
  const options = optionsOf(answer.map((one) => one.text).join(" "));
  const named = mark(assent) ?? (advice && mark(advice.folded));
  const option = named === undefined ? undefined : options.get(named);
  const reason = mark(assent) === undefined || option === undefined ? advice?.text : undefined;
  const said = [option, reason].filter((part) => part !== undefined);
  return said.length === 0 ? undefined : gist(said.join(" — "), MAX_CHARS);
}

/** `(1) shard by customer, (2) shard by region`, by their marks. */
function optionsOf(text: string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, round, plain, said] of text.matchAll(
    /(?:\(([1-4a-d])\)|(?:\b|^)(?:option |variant )?([1-4A-D])[):.])\s*([^;.。；()\n]{4,120}?)(?=,?\s*(?:or|oder|ou|o|\b)?\s*(?:\([1-4a-d]\)|\b[1-4A-D][):.])|[;.。；]|$)/gi,
  ))
    addOption(found, fold(round ?? plain ?? ""), (said ?? "").replace(/[,\s]+$/, ""));
  return found;
}

/** The first text of a mark is the option; later ones refer to it. */
function addOption(found: Map<string, string>, key: string, said: string): void {
  if (!found.has(key) && /^\p{L}/u.test(said)) found.set(key, said);
}

function mark(folded: string): string | undefined {
  const [, round, option, order] =
    /\(([1-4a-d])\)|\b(?:option|variant|variante|opcion|opcao|opzione) ([1-4a-d])\b|\b(first|second|third|former|latter) (?:one|option)/.exec(
      folded,
    ) ?? [];
  return round ?? option ?? (order && ORDINALS[order]);
}

const ORDINALS: Record<string, string> = { first: "1", former: "1", second: "2", latter: "2", third: "3" };
