import type { ModelSizes } from "@bonsai-agent/compaction";
import { referenceOf } from "@bonsai-agent/models";
import { repairSession, type Session } from "@bonsai-agent/session";
import { knownCatalogue } from "../call/catalogue.ts";
import { compactionLosses } from "../call/compaction-losses.ts";
import { wrongUsage } from "../call/failure.ts";
import type { Invocation } from "../call/invocation.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import {
  leafOf,
  openNamedSession,
  openSessionFile,
  outputFile,
  resolveEntryId,
  sessionFile,
} from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/session-import.ts";
import { callSettings } from "../call/settings.ts";
import { branchDiffReport, branchDiffView } from "../views/branch-diff.ts";
import { contextReport, contextSize } from "../views/context-report.ts";
import { contextItemTable, contextReportView } from "../views/context-view.ts";
import { type Line, paragraph, span } from "../views/line.ts";
import { lossesView } from "../views/losses-view.ts";
import { count, counted } from "../views/numbers.ts";
import { freeAmong } from "../views/session-facts.ts";
import { sessionReport, sessionView } from "../views/session-report.ts";
import { printable } from "../views/terminal-text.ts";
import { treeRows, treeView } from "../views/tree-view.ts";

export async function show(invocation: Invocation): Promise<undefined> {
  const { output, io, options } = invocation;
  if (options.losses === true) return showLosses(invocation);
  const session = openNamedSession(invocation);
  const size = contextSize(session, callSettings(invocation));
  const report = sessionReport(session, size, freeAmong((await knownCatalogue(invocation)).models));
  const shown = printedSecrets(invocation, session).value(report);
  output.result(shown, () => sessionView(shown, { width: output.width, nowMs: io.now() }));
}

/** Prints the facts that each compaction of a session or of another agent's transcript lost. */
function showLosses(invocation: Invocation): undefined {
  const { output } = invocation;
  const imported = transcriptSession(invocation, "Its losses follow.");
  const session = imported === undefined ? openNamedSession(invocation) : inMemory(imported);
  const losses = compactionLosses(session.path());
  const shown = printedSecrets(invocation, session).value(losses);
  output.result(shown, () => lossesView(shown, output.width));
}

/** Prints the context at the leaf or at `--leaf`: each message, then where the tokens of the next request go. */
export async function context(invocation: Invocation): Promise<undefined> {
  const { io, output } = invocation;
  const { width, wantsJson } = output;
  const session = openNamedSession(invocation);
  const leafId = leafOf(session, invocation);
  const settings = callSettings(invocation);
  const model = wantsJson ? undefined : await latestModel(session, leafId, invocation);
  const report = contextReport({ session, leafId, settings, model, nowMs: io.now() });
  const { items, totalTokens } = report;
  await output.list(
    () => items,
    function* (): Generator<Line> {
      if (items.length > 0) yield* [...contextItemTable(items, width), []];
      yield* paragraph(`${counted(items.length, "item")} at ${leafId ?? "the beginning"}`, width, "bold");
      if (totalTokens > 0) yield* contextReportView(report, width, { largest: 0 });
    },
  );
}

/** The model of the latest answer; undefined if the catalogue does not list it. */
async function latestModel(
  session: Session,
  leafId: string | null,
  invocation: Invocation,
): Promise<ModelSizes | undefined> {
  const latest = session.projection(leafId).items.findLast(({ message }) => message.role === "assistant");
  if (latest?.message.role !== "assistant") return undefined;
  const reference = `${latest.message.provider}/${latest.message.model}`;
  const { models } = await knownCatalogue(invocation);
  return models.find((each) => referenceOf(each) === reference);
}

export async function tree(invocation: Invocation): Promise<undefined> {
  const session = openNamedSession(invocation);
  const tree = session.tree({ isParsed: true });
  const { output, options } = invocation;
  const { leafId } = session;
  const secrets = printedSecrets(invocation, session);
  await output.list(
    () => treeRows(tree, secrets),
    () => treeView({ tree, leafId, width: output.width, all: options.all === true, secrets }),
  );
}

export async function diff(invocation: Invocation): Promise<undefined> {
  const { args, io, output } = invocation;
  const session = openNamedSession(invocation);
  const [, a, b] = args;
  const report = branchDiffReport({
    session,
    settings: callSettings(invocation),
    a: resolveEntryId(session, a!),
    b: b === undefined ? session.leafId : resolveEntryId(session, b),
    isFree: freeAmong((await knownCatalogue(invocation)).models),
    secrets: printedSecrets(invocation, session),
  });
  output.result(report, () => branchDiffView({ report, width: output.width, nowMs: io.now() }));
}

/** Prints an array of problems; empty for a sound file. A repaired copy is a notice. */
export async function doctor(invocation: Invocation): Promise<undefined> {
  const { options, output } = invocation;
  if (options.output !== undefined && options.repair !== true)
    throw wrongUsage("-o needs --repair.", "Add --repair to write a repaired copy, or remove -o.");
  const named = outputFile(invocation);
  const session = openSessionFile(sessionFile(invocation), invocation, (notice) => {
    if (notice.code !== "damaged_lines") output.notify(notice);
  });
  const file = session.file!;
  const problems: ProblemRow[] = session
    .problems()
    .map(({ line, kind, entryId, message, repair }) => ({ line, kind, entryId, message, repair }));
  session.close();
  const copy = options.repair === true ? (named ?? defaultCopy(file, problems)) : undefined;
  if (copy !== undefined) repairSession(file, copy);
  await output.list(
    () => problems,
    () => doctorView(problems, { file, copy, width: output.width }),
  );
  if (copy !== undefined && output.wantsJson)
    output.notify({
      /** `session doctor --repair --json` wrote a repaired copy. The message is its path. */
      code: "repaired_copy",
      message: copy,
    });
}

/** A sound file needs no copy, unless one was asked for by name. */
function defaultCopy(file: string, problems: readonly unknown[]): string | undefined {
  return problems.length === 0 ? undefined : `${file.replace(/\.jsonl$/, "")}.repaired.jsonl`;
}

/** One row of `bonsai session doctor --json`. */
export type ProblemRow = Pick<
  ReturnType<Session["problems"]>[number],
  "line" | "kind" | "entryId" | "message" | "repair"
>;

/** Lists the damaged lines of a file, and how a repair treats each. */
function* doctorView(
  problems: readonly ProblemRow[],
  { file, copy, width }: { file: string; copy: string | undefined; width: number },
): Generator<Line> {
  if (problems.length === 0) yield [span("✓ ", ["bold", "green"]), `${file} has no damage.`];
  else yield [span(counted(problems.length, "problem"), ["bold", "yellow"]), ` in ${file}`];
  for (const problem of problems) yield* problemLines(problem, width);
  if (problems.length > 0 || copy !== undefined) yield [];
  if (copy !== undefined) yield ["Wrote the repaired copy ", span(copy, "cyan")];
  else if (problems.length > 0) {
    const hint = "Bonsai can open this session. To write a copy without the damage, add `--repair`.";
    yield* paragraph(hint, width, "gray");
  }
}

function* problemLines({ line, kind, entryId, message, repair }: ProblemRow, width: number): Generator<Line> {
  const place = entryId === undefined ? "" : ` at ${entryId}`;
  yield [];
  yield [span(`line ${count(line)}`, "bold"), span(`  ${kind}${place}`, "yellow")];
  yield* paragraph(printable(message), width, undefined, 2);
  yield* paragraph(`→ ${printable(repair)}`, width, "gray", 2);
}
