import type { AgentNotice, AgentState, LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import { stepsText } from "@bonsai-agent/compaction/host";
import type { Lifecycle, PayloadOf } from "@bonsai-agent/lifecycle";
import {
  addUsage,
  CostSum,
  costPhrase,
  emptyUsage,
  inputTokens,
  messageText,
  type Usage,
} from "@bonsai-agent/messages";
import { reportFailure } from "../call/failure.ts";
import { type AgentCall, ExitCode } from "../call/invocation.ts";
import type { OutStream } from "../call/io.ts";
import { resumeCommand } from "../call/paths.ts";
import type { PromptInput } from "../call/prompt-input.ts";
import { interruptibleCall, runPrompt } from "../call/run-prompt.ts";
import { fitLine, type Line, paragraph, span } from "../views/line.ts";
import { count, counted, sizeChange, tokensText } from "../views/numbers.ts";
import { callPreview, failurePreview } from "../views/preview.ts";
import { freeAmong } from "../views/session-facts.ts";
import { printable, printableLines } from "../views/terminal-text.ts";

/** Runs one prompt: the answer goes to stdout, everything else to stderr. @param given the prompt, if already read */
export function runPrint(call: AgentCall, given?: PromptInput): Promise<ExitCode> {
  return interruptibleCall(call, (signal) => {
    const screen = new AnswerScreen(call.io.stdout);
    const progress = new PrintProgress(call, screen);
    const cost = new RunCost();
    return runPrompt({
      call,
      given,
      signal,
      onNotice: (notice) => progress.notice(notice),
      listen: (lifecycle) => {
        for (const listener of [cost, progress, screen]) listener.listen(lifecycle);
      },
      onShow: () => screen.endLine(),
      onEnd: (result, host) => {
        const code = finish(call, screen, result);
        progress.ended(result, host.agent.state, cost);
        return code;
      },
    });
  });
}

function finish({ io }: AgentCall, screen: AnswerScreen, { status, answer, error }: RunResult): ExitCode {
  screen.end();
  if (status === "aborted") return ExitCode.cancelled;
  if (status === "failed") return reportFailure(error, io, false);
  if (!screen.isLive && answer !== undefined) io.stdout.write(`${messageText(answer).trimEnd()}\n`);
  return ExitCode.done;
}

/** Short lines on stderr about the run's progress. */
export class PrintProgress {
  readonly #call: AgentCall;
  readonly #screen: AnswerScreen;

  constructor(call: AgentCall, screen: AnswerScreen) {
    this.#call = call;
    this.#screen = screen;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    const running = new Map<string, string>();
    lifecycle.on("tool_execution_start", ({ toolCallId, toolName, args }) => {
      const call = callPreview(toolName, args);
      running.set(toolCallId, call);
      this.#print([span("· ", "cyan"), span(call, "gray")]);
    });
    lifecycle.on("tool_execution_end", ({ toolCallId, toolName, result, isError }) => {
      const call = running.get(toolCallId) ?? toolName;
      running.delete(toolCallId);
      if (isError) this.#print([span("✗ ", "red"), `${call}: ${failurePreview(result.content)}`]);
    });
    lifecycle.on("session_mask", ({ entries, freedTokens }) =>
      this.#print([
        `Cleared ${counted(entries.length, "old tool result")}: freed ${tokensText(freedTokens, true)}.`,
      ]),
    );
    // Not at its start: often there is nothing to compact.
    lifecycle.on("session_before_compact", ({ reason }) => {
      const why = reason === "overflow" ? "Context overflow detected, " : "";
      this.#print([span(`${why}Auto-compacting…`, "yellow")]);
      return undefined;
    });
    lifecycle.on("auto_compaction_end", (event) => {
      const line = compactionLine(event);
      if (line !== undefined) this.#print(line);
      this.#caveat(event.outcome.caveat);
    });
  }

  notice(notice: AgentNotice): void {
    this.#screen.endLine();
    this.#call.output.notify(notice);
  }

  /** The last lines: the reason for an incomplete answer, the cost, and the command to resume. */
  ended(
    { status, answer }: RunResult,
    { sessionId, sessionFile, leafId, model }: AgentState,
    { usage, cost }: RunCost,
  ): void {
    if (status === "paused") this.#print(["Paused after a compaction. Run `bonsai -c` to continue."]);
    else if (status === "done" && answer?.stopReason === "length")
      this.#print(["The answer reached the model's output limit. Run `bonsai -c` to continue."]);
    const isKept = sessionFile !== undefined && leafId !== null;
    // A command without a request has no cost.
    if (usage.totalTokens === 0 && (status === "handled" || (status === "aborted" && !isKept))) return;
    const known = cost.cost((each) => freeAmong([model])(each));
    const spent = `${count(inputTokens(usage))} tokens in, ${count(usage.output)} out, ${costPhrase(known)}`;
    const goOn = isKept ? resumeCommand({ id: sessionId, file: sessionFile }, this.#call.io) : "not saved";
    this.#print([span(`${spent} · ${goOn}`, "gray")]);
  }

  #caveat(text: string | undefined): void {
    if (text === undefined) return;
    this.#screen.endLine();
    const { output } = this.#call;
    output.note(...paragraph(text, output.noticeWidth, "yellow"));
  }

  #print(line: Line): void {
    this.#screen.endLine();
    const { output } = this.#call;
    output.note(fitLine(line, Math.max(output.noticeWidth, 100)));
  }
}

/** Undefined if another line reports it: the line of a mask, or the warning or error of a failure. */
function compactionLine({ outcome }: PayloadOf<LifecycleEvents["auto_compaction_end"]>): Line | undefined {
  const { status, detail, steps } = outcome;
  const sizes = sizeChange(outcome);
  if (status === "compacted") return [`Compacted: ${sizes}.${stepsSentence(steps)}`];
  const isCut = steps !== undefined && steps.shortened + steps.withoutMedia > 0;
  if (status === "masked" && isCut) return [`Shortened the context: ${sizes}.${stepsSentence(steps)}`];
  return status === "cancelled" ? [`Not compacted: ${detail}`] : undefined;
}

function stepsSentence(steps: Parameters<typeof stepsText>[0] | undefined): string {
  const done = steps === undefined ? "" : stepsText(steps);
  return done === "" ? "" : ` ${done.slice(0, 1).toUpperCase()}${done.slice(1)}.`;
}

/** Shows answers live on a terminal. Elsewhere the caller prints only the last answer. */
export class AnswerScreen {
  readonly isLive: boolean;
  readonly #stdout: OutStream;
  /** The first half of a character that the next piece completes. */
  #held = "";
  /** The last shown character, if the next piece can join it. */
  #before = "";
  #atLineStart = true;

  constructor(stdout: OutStream) {
    this.#stdout = stdout;
    this.isLive = stdout.isTTY === true;
  }

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    if (!this.isLive) return;
    lifecycle.on("message_update", ({ assistantMessageEvent: event }) => {
      if (event.type === "text") this.#show(event.delta);
      // A retry replaces the text before it.
      if (event.type === "start") this.endLine();
    });
    lifecycle.on("message_end", ({ message }) => {
      if (message.role === "assistant") this.end();
      return undefined;
    });
  }

  /** Ends the line before other output. */
  endLine(): void {
    if (this.#atLineStart) return;
    this.#stdout.write("\n");
    this.#atLineStart = true;
  }

  /** The answer is complete. */
  end(): void {
    this.#held = "";
    this.#before = "";
    this.endLine();
  }

  #show(delta: string): void {
    const text = this.#held + delta;
    this.#held = /[\ud800-\udbff]$/.test(text) ? text.slice(-1) : "";
    const ready = text.slice(0, text.length - this.#held.length);
    const shown = printableLines(this.#before + ready)
      .join("\n")
      .slice(this.#before.length);
    if (ready !== "") this.#before = joinable(ready);
    if (shown === "" || (this.#atLineStart && shown.trim() === "")) return;
    this.#stdout.write(shown);
    this.#atLineStart = shown.endsWith("\n");
  }
}

function joinable(text: string): string {
  const last = /[^\0-\x7f]$/u.exec(text)?.[0] ?? "";
  return printable(last) === last ? last : "";
}

/** Adds up the usage of one run: answers, tools that ask models, summaries. */
export class RunCost {
  usage: Usage = emptyUsage();
  readonly cost = new CostSum();

  #model: string | undefined;

  listen(lifecycle: Lifecycle<LifecycleEvents>): void {
    lifecycle.on("message_end", ({ message }) => {
      if (message.role === "assistant") this.#model = `${message.provider}/${message.model}`;
      if (message.role === "assistant" || message.role === "toolResult") this.#add(message.usage);
      return undefined;
    });
    lifecycle.on("session_compact", ({ compactionEntry }) => this.#add(compactionEntry.usage));
  }

  #add(usage: Usage | undefined): void {
    if (usage === undefined) return;
    this.usage = addUsage(this.usage, usage);
    this.cost.add(usage, this.#model);
  }
}
