import { gist } from "./gist.ts";
import { requestOf } from "./requests.ts";
import type { Statement } from "./statement.ts";

const NARRATION =
  /^(?:let me|let's|now (?:let|i)|i'll|i will|here(?:'s| is) what|here are|the issue|looking|wait|next)\b/i;
const OPENER =
  /^(?:(?:perfect|great|excellent|done|good|all done|ok|okay|sure|fertig|erledigt|parfait|c'est fait|listo|perfecto|готово|完成了?|完了(?:しました)?)\s*[!.,:。！—–-]+\s*)+/iu;

/** The sentence in which the assistant says what a turn came to: the first good one of its last answer. */
export function achievement(said: readonly Statement[]): string | undefined {
  const answers = said.filter((statement) => statement.speaker === "assistant" && statement.closing);
  const last = answers.at(-1)?.order;
  const told = answers.filter((statement) => statement.order === last && tellsOfWork(statement));
  const best = told.find((statement) => statement.subject.size + statement.values.length >= 3) ?? told[0];
  const line = best ?? answers.find((statement) => statement.order === last && summsUp(statement));
  return line === undefined ? undefined : gist(line.text.replace(OPENER, "").replace(/[.:：。!]$/, ""), 150);
}

function tellsOfWork({ text, cues, hits, kind, cut }: Statement): boolean {
  if (!cues.has("did") || kind === "question" || cut || text.length <= 15) return false;
  if (NARRATION.test(text) || /\bbeing\b/.test(text)) return false;
  // A line that only announces a list counts if it begins with what was done: "Added five tokens:".
  return !/[:：]$/.test(text) || hits.some((hit) => hit.cue === "did" && hit.start < 12);
}

/** Where no word tells of work, an answer's first plain sentence stands for what came of it. */
function summsUp({ text, folded, subject, kind, cut }: Statement): boolean {
  const length = text.replace(OPENER, "").length;
  if (kind === "question" || cut || length < 20 || length > 160 || subject.size < 3) return false;
  return !/[:：]$|^`[^`]+`:|\bbeing\b/.test(text) && !NARRATION.test(text) && requestOf(folded) === undefined;
}
