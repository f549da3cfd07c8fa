import { bar, fitLine, type Line, type Span, span, table } from "../views/line.ts";
import { count, duration, elapsed } from "../views/numbers.ts";
import type { DemoWorker } from "./worker-processes.ts";
import { EXPECTED_ENTRIES } from "./workers-scenario.ts";

/** A killed worker's session, and the worker that continued it. */
export interface Continuation {
  killed: string;
  session: string;
  /** Milliseconds since the start of the demo. */
  killedMs: number;
  continuedMs?: number;
  by?: string;
}

export interface DemoSession {
  id: string;
  /** Such as `s3`. */
  name: string;
  /** Stored in the database. */
  entries: number;
  fence: number;
  /** Host that has its lease, as the database names it. */
  owner: string | undefined;
}

/** Everything that the picture shows. */
export interface DemoState {
  nowMs: number;
  leaseSeconds: number;
  /** Such as `PostgreSQL 18.4`. */
  server: string;
  workers: readonly DemoWorker[];
  sessions: readonly DemoSession[];
  continuations: readonly Continuation[];
  jobs: { waiting: number; working: number; done: number };
  /** Calls of tools with the effect "once". */
  calls: { ended: number; uncertain: number };
}

/** Below this height, sections have no empty lines between them. */
const AIRY_HEIGHT = 23;
const BAR_COLUMNS = 10;

/** The workers, the sessions and the numbers, in at most `height` lines. */
export function workersPicture(
  state: DemoState,
  { width, height }: { width: number; height: number },
): Line[] {
  const gap: Line[] = height < AIRY_HEIGHT ? [] : [[]];
  const { nowMs, jobs, calls } = state;
  const sessions = state.sessions.map((session) => sessionRow(session, state));
  const uncertain = span(
    `${count(calls.uncertain)} may have run`,
    calls.uncertain > 0 ? "yellow" : undefined,
  );
  const lines: Line[] = [
    [span("bonsai worker --demo", "bold"), ` ${elapsed(nowMs)} · ${state.server}`],
    [span(`Lease: ${state.leaseSeconds} s here, 45 s by default`, "gray")],
    ...gap,
    ...state.workers.map((worker): Line => [span(worker.name, "bold"), "  ", workerState(worker, state)]),
    ...gap,
    ...table(sessions, { columns: [{}, {}, { align: "right" }, {}, {}], width }),
    ...state.continuations.map((each) => continuationLine(each, nowMs)),
    ...gap,
    ["jobs   ", `${count(jobs.done)} done · ${count(jobs.working)} in work · ${count(jobs.waiting)} waiting`],
    ["calls  ", `${count(calls.ended)} ended · `, uncertain],
  ];
  return lines.slice(0, height).map((line) => fitLine(line, width));
}

function workerState({ state, sessionId, killedMs, isRestarted }: DemoWorker, demo: DemoState): Span {
  const session = demo.sessions.find(({ id }) => id === sessionId)?.name;
  if (state === "killed")
    return span(`killed ${elapsed(demo.nowMs - killedMs!)} ago while it worked on ${session}`, "red");
  const before = isRestarted ? "restarted, " : "";
  if (state === "working") return span(`${before}working on ${session}`, "green");
  return span(`${before}${state}`, "gray");
}

function sessionRow({ name, entries, fence, owner }: DemoSession, { workers }: DemoState): Line[] {
  const whole = Math.max(EXPECTED_ENTRIES, entries);
  return [
    [span(name, "bold")],
    bar([{ value: entries, glyph: "█", style: "cyan" }], BAR_COLUMNS, whole),
    [`${count(entries)} entries`],
    [workers.find((worker) => worker.owner === owner)?.name ?? "–"],
    [span(`fence ${fence}`, "gray")],
  ];
}

function continuationLine(each: Continuation, nowMs: number): Line {
  const { session, killed, killedMs, by } = each;
  if (by !== undefined) return [span(continuedText(each), "green")];
  return [span(`${session} waits: ${killed} was killed ${elapsed(nowMs - killedMs)} ago`, "yellow")];
}

/** Such as `s3 continued on w5, 12 s after w2 was killed`. */
export function continuedText({ session, by, killed, killedMs, continuedMs }: Continuation): string {
  return `${session} continued on ${by}, ${duration(continuedMs! - killedMs)} after ${killed} was killed`;
}
