import { bar, fitLine, type Line, paragraph, span } from "../views/line.ts";
import { elapsed } from "../views/numbers.ts";

/** Everything that the picture shows. */
export interface DemoState {
  nowMs: number;
  workers: readonly ShownWorker[];
  /** Commands of each session. */
  commands: number;
  /** Oldest first. The first one introduces the demo. */
  events: readonly { text: string }[];
}

interface ShownWorker {
  name: string;
  process: { signalCode: string | null };
  /** Its last session. `ran`: the number of commands that ran. */
  session?: { name: string; ran: number };
}

const BAR_COLUMNS = 10;

/** The work of each worker and the events, in at most `height` lines. */
export function workersPicture(
  state: DemoState,
  { width, height }: { width: number; height: number },
): Line[] {
  const [introduction = [], ...events] = state.events.map(({ text }) => paragraph(text, width));
  const lines: Line[] = [
    [span("bonsai worker --demo", "bold"), span(`  ${elapsed(state.nowMs)}`, "gray")],
    ...introduction,
    [],
    ...state.workers.map((worker): Line => [span(worker.name, "bold"), "  ", ...workOf(worker, state)]),
    [],
    ...events.flat(),
  ];
  return lines.slice(0, height).map((line) => fitLine(line, width));
}

function workOf({ process, session }: ShownWorker, { workers, commands }: DemoState): Line {
  if (session === undefined) return [span("no session", "gray")];
  if (process.signalCode === null) {
    const progress = bar([{ value: session.ran, glyph: "█", style: "green" }], BAR_COLUMNS, commands);
    return [`${session.name}  `, ...progress, `  ${session.ran} of ${commands} commands`];
  }
  const isWaiting = workers.filter((worker) => worker.session === session).length === 1;
  return [span(isWaiting ? `killed, ${session.name} waits` : "killed", "red")];
}
