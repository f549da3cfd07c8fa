import { gist } from "./gist.ts";
import type { Statement } from "./statement.ts";
import type { ToolUse } from "./tool-use.ts";
import type { Turn } from "./transcript.ts";

/** A request as a line of the goal. */
export interface GoalLine {
  text: string;
  turn: number;
  order: number;
  weight: number;
}

const TRIVIAL =
  /^(?:(?:ok|okay|yes|yeah|yep|no|nope|continue|go on|go ahead|proceed|next|thanks|thank you|thx|great|cool|nice|perfect|good|fine|done|stop|wait|sleep|retry|try again|again|please|do it|hello|hi|hey|weiter|ja|nein|danke|gut|mach weiter|continue|oui|non|merci|vas-y|si|no|gracias|sigue|continua|sim|nao|obrigado|да|нет|спасибо|продолжай|дальше|ок|好|好的|继续|谢谢|是|不是|はい|いいえ|続けて|ありがとう|네|아니|계속|감사)[\s.,!…。！]*)+$/iu;

/** A span has many requests; most are done by the time it is told. The first says what it was about. */
const LATEST_LINES = 3;
/** "investigate" alone says nothing later. */
const LEAST_CHARS = 16;

/** True for a message that asks for nothing by itself: "continue", "/model", "ok thanks". */
export function isTrivialRequest(request: string): boolean {
  const text = request.trim();
  if (text === "" || /^\/[\w-]*(?:\s\S+)?$/.test(text) || TRIVIAL.test(text)) return true;
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  const wide = /[\u2e80-\uffef]/.test(text);
  return wide ? letters < 3 : letters < 6;
}

/** What the user wanted, in order: the first real request weighs most, the others by the work they set off. */
export function goalLines(input: {
  turns: readonly Turn[];
  uses: readonly ToolUse[];
  statements: readonly Statement[];
  hasEarlierGoal: boolean;
}): GoalLine[] {
  const work = new Map<number, number>();
  for (const use of input.uses)
    work.set(
      use.call.turn,
      (work.get(use.call.turn) ?? 0) + (use.kind === "edit" || use.kind === "write" ? 2 : 0.5),
    );
  // By turn, so that each request looks at its own sentences only.
  const said = Map.groupBy(
    input.statements.filter(({ speaker }) => speaker === "user"),
    ({ turn }) => turn,
  );
  const real = input.turns.filter((turn) => !isTrivialRequest(turn.request));
  const lines = real.map((turn, position) => {
    const own = said.get(turn.turn) ?? [];
    const first = position === 0 && !input.hasEarlierGoal;
    const size = Math.min(3.5, Math.log2(1 + (work.get(turn.turn) ?? 0)) * 0.7);
    const weight = first ? 12 : 1 + size + substance(own) + (0.5 * position) / real.length;
    return {
      text: first ? firstGist(turn, own) : requestGist(own),
      turn: turn.turn,
      order: turn.order,
      weight,
    };
  });
  const telling = lines.filter((line) => line.text !== "" && line.text.length >= LEAST_CHARS);
  const latest = telling.slice(-LATEST_LINES);
  return lines.filter((line) => line.text !== "" && (line.weight >= 12 || latest.includes(line)));
}

/** What a request names and says, as a measure of how well it tells what was wanted. */
function substance(own: readonly Statement[]): number {
  const asking = own.filter((one) => ASKING.has(one.kind));
  const said = asking.reduce((sum, one) => sum + one.values.length * 0.5 + one.subject.size * 0.12, 0);
  return Math.min(1.8, said) - (asking.length === 0 ? 1 : 0);
}

const ASKING: ReadonlySet<string> = new Set(["request", "question", "trouble"]);

/** The first request sets the scene: all of it but rules, tastes and to-dos, which have sections of their own. */
function firstGist(turn: Turn, own: readonly Statement[]): string {
  const asked = own.filter((one) => !["constraint", "preference", "todo"].includes(one.kind));
  return gist(asked.length === 0 ? turn.request : asked.map((statement) => statement.text).join(" "), 320);
}

/** The request's own sentences that ask for something; rules and facts said along with it stand in their sections. */
function requestGist(own: readonly Statement[]): string {
  const asking = own.filter((statement) => ASKING.has(statement.kind));
  const rest = own.filter((statement) => statement.kind === "plain" || statement.kind === "decision");
  return gist((asking.length > 0 ? asking : rest).map((statement) => statement.text).join(" "), 170);
}
