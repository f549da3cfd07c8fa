import type { AgentNotice, AgentState, LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import { type CompactionSteps, stepsText } from "@bonsai-agent/compaction";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import { costText, type KnownCost, promptTokens } from "@bonsai-agent/messages";
import { freeAmong } from "../free-models.ts";
import type { AgentCall } from "../invocation.ts";
import { callPreview, failurePreview } from "../preview.ts";
import { resumeCommand } from "../resume-command.ts";
import { fitLine, type Line, span } from "../views/line.ts";
import { count, counted } from "../views/numbers.ts";
import type { AnswerScreen } from "./answer-screen.ts";
import type { RunCost } from "./run-cost.ts";

/** Short lines on stderr: what is going on meanwhile. */
export class PrintProgress {
  readonly #call: AgentCall;
  readonly #screen: AnswerScreen;

  constructor(call: AgentCall, screen: AnswerScreen) {
    this.#call = call;
    this.#screen = screen;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    /** Calls under way, and whether each was ever beside others: a failure then names its call whole. */
    const running = new Map<string, { call: string; wasAlone: boolean }>();
    lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
      const call = callPreview(toolName, args);
      for (const other of running.values()) other.wasAlone = false;
      running.set(toolCallId, { call, wasAlone: running.size === 0 });
      this.#say([span("· ", "cyan"), span(call, "gray")]);
    });
    lifecycle.on("tool_execution_end", ({ toolCallId, toolName, result, isError }) => {
      const { call, wasAlone } = running.get(toolCallId) ?? { call: toolName, wasAlone: true };
      running.delete(toolCallId);
      const which = wasAlone ? toolName : call;
      if (isError) this.#say([span("✗ ", "red"), `${which}: ${failurePreview(result.content)}`]);
    });
    lifecycle.on("session_mask", ({ entries, freedTokens }) =>
      this.#say([
        `Cleared ${counted(entries.length, "old tool result")}: ${count(freedTokens)} tokens less.`,
      ]),
    );
    // Not at its start: often there is nothing to compact.
    lifecycle.on("session_before_compact", ({ reason }) => {
      const why = reason === "overflow" ? "Context overflow detected, " : "";
      this.#say([span(`${why}Auto-compacting…`, "yellow")]);
      return undefined;
    });
    lifecycle.on("auto_compaction_end", (event) => {
      const line = compactionLine(event);
      if (line !== undefined) this.#say(line);
    });
  }

  notice(notice: AgentNotice): void {
    this.#screen.endLine();
    this.#call.output.notify(notice);
  }

  /** What the answer itself does not say. */
  result({ status, answer }: RunResult): void {
    if (status === "paused")
      this.#say(["Paused after a compaction, as the settings want it; `bonsai -c` goes on."]);
    else if (status === "done" && answer?.stopReason === "length")
      this.#say(["The answer was cut off at the model's output cap; `bonsai -c` goes on."]);
  }

  /** The last line: what it took, and how to go on. A command that asked no model took nothing. */
  ended(
    { status }: RunResult,
    { sessionId, sessionFile, leafId, model }: AgentState,
    { usage, cost }: RunCost,
  ): void {
    const isKept = sessionFile !== undefined && leafId !== null;
    if (usage.totalTokens === 0 && (status === "handled" || (status === "aborted" && !isKept))) return;
    const spent = `${count(promptTokens(usage))} tokens in, ${count(usage.output)} out, ${spentWords(cost.cost((each) => freeAmong([model])(each)))}`;
    const goOn = isKept ? resumeCommand({ id: sessionId, file: sessionFile }, this.#call.io) : "not kept";
    this.#say([span(`${spent} · ${goOn}`, "gray")]);
  }

  #say(line: Line): void {
    this.#screen.endLine();
    const { output } = this.#call;
    output.notice(fitLine(line, Math.max(output.noticeWidth, 100)));
  }
}

function spentWords(cost: KnownCost): string {
  return cost.certainty === "unknown" ? "cost unknown" : costText(cost);
}

/** Undefined where another line says it: that of a mask, the warning or the error of a failure. */
function compactionLine({ outcome }: PayloadOf<LifecycleEvents["auto_compaction_end"]>): Line | undefined {
  const { status, tokensBefore, tokensAfter, detail, steps } = outcome;
  const sizes = `${count(tokensBefore)} → ${count(tokensAfter)} tokens`;
  if (status === "compacted") return [`Compacted: ${sizes}.${stepsSentence(steps)}`];
  const isCut = steps !== undefined && steps.shortened + steps.withoutMedia > 0;
  if (status === "masked" && isCut) return [`Made smaller: ${sizes}.${stepsSentence(steps)}`];
  return status === "cancelled" ? [`Not compacted: ${detail}`] : undefined;
}

function stepsSentence(steps: CompactionSteps | undefined): string {
  const done = steps === undefined ? "" : stepsText(steps);
  return done === "" ? "" : ` ${done.slice(0, 1).toUpperCase()}${done.slice(1)}.`;
}
