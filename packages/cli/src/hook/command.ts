import { rmSync } from "node:fs";
import { type GapText, gapText, lostCounts } from "@bonsai-agent/compaction/host";
import { textFile } from "@bonsai-agent/models/host";
import { bonsaiHome } from "@bonsai-agent/session";
import {
  applyConfigChange,
  backupFile,
  installLines,
  parseConfig,
  removalLines,
} from "../call/agent-config.ts";
import { compactionLosses } from "../call/compaction-losses.ts";
import { wrongUsage } from "../call/failure.ts";
import { ExitCode, type Invocation } from "../call/invocation.ts";
import { launcherProblem, writeLauncher } from "../call/launcher.ts";
import { printedSecrets } from "../call/printed-secrets.ts";
import { sessionFile } from "../call/session-file.ts";
import { inMemory, transcriptSession } from "../call/session-import.ts";
import { type Line, paragraph, span, table } from "../views/line.ts";
import { compactionTitle } from "../views/losses-view.ts";
import { age, count } from "../views/numbers.ts";
import { printableLines } from "../views/terminal-text.ts";
import { HOOK_AGENTS, type HookAgent, type HookRun, loggedRuns } from "./hook-files.ts";
import {
  AGENT_ROWS,
  type HookInstallation,
  hookInstallation,
  withHook,
  withoutHook,
} from "./hook-settings.ts";
import { answerHook, endingFor, HOOK_LIMITS, MAX_TEXT_TOKENS } from "./run.ts";

/** Answers one call of an agent, as the installed entry does. */
export async function run({ args, io }: Invocation): Promise<undefined> {
  let input = "";
  const decoder = new TextDecoder();
  for await (const piece of io.stdin ?? [])
    input += typeof piece === "string" ? piece : decoder.decode(piece, { stream: true });
  io.stdout.write(answerHook({ agent: args[0], input, home: bonsaiHome(io.env), nowMs: io.now }));
}

/** Adds the hook to an agent's settings. Shows the change and asks first. */
export async function install(invocation: Invocation): Promise<ExitCode | undefined> {
  const { agent, file, text } = namedSettings(invocation);
  const home = bonsaiHome(invocation.io.env);
  const after = withHook(agent, text ?? "", file, home);
  writeLauncher(home);
  const change = { file, before: text, after };
  const outcome = await applyConfigChange(invocation, change);
  invocation.output.result({ agent, file, outcome }, () =>
    installLines(change, { outcome, entry: "the hook", ...AGENT_ROWS[agent] }),
  );
  return outcome === "declined" ? ExitCode.cancelled : undefined;
}

/** Removes the hook. Restores the former file if nothing else changed since the install. */
export async function remove(invocation: Invocation): Promise<ExitCode | undefined> {
  const { agent, file, text } = namedSettings(invocation);
  const home = bonsaiHome(invocation.io.env);
  const former = textFile(backupFile(file));
  const isFormer =
    former !== undefined &&
    withoutHook(former, file) === former &&
    withHook(agent, former, file, home) === text;
  const after = text === undefined ? undefined : isFormer ? former : withoutHook(text, file);
  const outcome =
    after === undefined ? "unchanged" : await applyConfigChange(invocation, { file, before: text, after });
  const isEmpty = after !== undefined && Object.keys(parseConfig(after, file)).length === 0;
  if (outcome === "written" && former === undefined && isEmpty) rmSync(file);
  invocation.output.result({ agent, file, outcome }, () => removalLines(file, outcome, "the hook"));
  return outcome === "declined" ? ExitCode.cancelled : undefined;
}

function namedSettings({ args, io, options }: Invocation) {
  const agent = HOOK_AGENTS.find((each) => each === args[0]);
  if (agent === undefined)
    throw wrongUsage(`Unknown agent ${JSON.stringify(args[0])}.`, `Agents: ${HOOK_AGENTS.join(", ")}.`);
  const file = AGENT_ROWS[agent].file(io.env, options.project === true ? io.cwd : undefined);
  return { agent, file, text: textFile(file) };
}

/** One row of `bonsai hook status --json`: where the hook is installed, and its latest runs. */
export interface HookStatus {
  agent: HookAgent;
  scope: "user" | "project";
  file: string;
  state: HookInstallation;
}

/** Shows where the hook is installed, when it ran, the text that it added, and the last error. */
export async function status({ io, output }: Invocation): Promise<undefined> {
  const home = bonsaiHome(io.env);
  const installations = HOOK_AGENTS.flatMap((agent) =>
    (["user", "project"] as const).map((scope): HookStatus => {
      const file = AGENT_ROWS[agent].file(io.env, scope === "user" ? undefined : io.cwd);
      return { agent, scope, file, state: hookInstallation(agent, textFile(file) ?? "", file, home) };
    }),
  );
  const isInstalled = installations.some(({ state }) => state === "installed" || state === "outdated");
  const problem = isInstalled ? (launcherProblem(home, "hook") ?? null) : null;
  const runs = loggedRuns(home);
  const latest = (test: (run: HookRun) => boolean) => runs.findLast(test) ?? null;
  const agents = HOOK_AGENTS.map((agent) => ({
    agent,
    lastRun: latest((run) => run.agent === agent),
    lastAdded: latest((run) => run.agent === agent && (run.added?.tokens ?? 0) > 0),
    lastError: latest((run) => run.agent === agent && run.error !== undefined),
  }));
  output.result({ installations, problem, agents }, () => [
    ...installationLines(installations, output.width),
    ...(problem === null
      ? []
      : [[span("! ", "yellow"), `${problem} Run \`bonsai hook install AGENT\` again.`]]),
    ...agents.flatMap(({ agent, lastRun, lastAdded, lastError }): Line[] => [
      ...runLine(
        `${AGENT_ROWS[agent].label} ran the hook`,
        lastRun,
        ({ event }) => ` (${event ?? "no event"})`,
      ),
      ...runLine("  last added text", lastAdded, ({ added }) => `: ${addedText(added!)}`),
      ...runLine("  last error", lastError, ({ error }) => `: ${error}`),
    ]),
  ]);

  function runLine(words: string, found: HookRun | null, detail: (run: HookRun) => string): Line[] {
    return found === null ? [] : [[`${words} ${age(Date.parse(found.at), io.now())}${detail(found)}`]];
  }
}

function addedText({ tokens, counts }: Pick<GapText, "tokens" | "counts">): string {
  return `~${count(tokens)} tokens with ${lostCounts(counts) ?? "no facts"}`;
}

function* installationLines(rows: readonly HookStatus[], width: number): Generator<Line> {
  const shown = rows.filter(({ state, scope }) => scope === "user" || state !== "not installed");
  yield* table(
    shown.map(({ agent, scope, file, state }): Line[] => [
      [span(agent, "bold")],
      [scope],
      [
        span(
          state === "outdated" ? "outdated: run install again" : state,
          state === "installed" ? "green" : "gray",
        ),
      ],
      [file],
    ]),
    { columns: [{}, {}, {}, { flexible: true }], width },
  );
}

/** One row of `bonsai hook preview --json`, oldest first. */
export interface PreviewRow extends GapText {
  entryId: string;
  timestamp: string;
}

/** Prints the text that the hook adds at each compaction of a transcript, if it knows the summary. */
export async function preview(invocation: Invocation): Promise<undefined> {
  const { output } = invocation;
  const path = sessionFile(invocation);
  const imported = transcriptSession(invocation, "Its compactions follow.");
  const agent = HOOK_AGENTS.find((each) => each === imported?.report.format);
  if (imported === undefined || agent === undefined)
    throw wrongUsage(
      `${path} is not a transcript of Claude Code or Codex.`,
      "Give the path of a transcript of one of them.",
    );
  const session = inMemory(imported);
  const options = { ...HOOK_LIMITS[agent], maxTokens: MAX_TEXT_TOKENS, ending: endingFor(path) };
  const rows = compactionLosses(session.path(), agent === "codex").map(
    ({ entryId, timestamp, lost }): PreviewRow => ({ entryId, timestamp, ...gapText(lost, options) }),
  );
  const shown = printedSecrets(invocation, session).value(rows);
  output.result(shown, () => previewLines(shown, output.width));
}

function* previewLines(rows: readonly PreviewRow[], width: number): Generator<Line> {
  if (rows.length === 0) yield ["This transcript has no compaction."];
  for (const [at, row] of rows.entries()) {
    if (at > 0) yield [];
    yield [span(compactionTitle(row.timestamp, row.text === "" ? "nothing to add" : addedText(row)), "bold")];
    for (const line of printableLines(row.text))
      yield* line === "" ? [[]] : paragraph(line, width, undefined, 2);
  }
}
