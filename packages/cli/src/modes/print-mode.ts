import { killRunningCommands, type RunResult } from "@bonsai-agent/agent";
import { messageText } from "@bonsai-agent/messages";
import { ExitCode } from "../exit-code.ts";
import { reportFailure } from "../failure.ts";
import type { AgentCall } from "../invocation.ts";
import { AgentHost } from "../work/agent-host.ts";
import type { PromptInput } from "../work/prompt-input.ts";
import { AnswerScreen } from "./answer-screen.ts";
import { PrintProgress } from "./print-progress.ts";
import { promptUntil } from "./prompt-until.ts";
import { RunCost } from "./run-cost.ts";

/** One prompt, its answer on stdout, everything else on stderr. */
export function runPrint(call: AgentCall, input: PromptInput): Promise<ExitCode> {
  return call.io.interruptible(async (signal) => {
    const screen = new AnswerScreen(call.io.stdout);
    const progress = new PrintProgress(call, screen);
    const host = await AgentHost.open(call, (notice) => progress.notice(notice));
    try {
      return await run({ call, host, screen, progress, input, signal });
    } finally {
      await host.close();
    }
  }, killRunningCommands);
}

interface Print {
  call: AgentCall;
  host: AgentHost;
  screen: AnswerScreen;
  progress: PrintProgress;
  input: PromptInput;
  signal: AbortSignal;
}

async function run({ call, host, screen, progress, input, signal }: Print): Promise<ExitCode> {
  const { lifecycle } = host.workshop;
  const cost = new RunCost(lifecycle);
  progress.listen(lifecycle);
  screen.listen(lifecycle);
  await host.start();
  const result = await promptUntil(host, input, signal);
  const code = finish(call, screen, result);
  progress.result(result);
  progress.ended(host.agent.state, cost);
  return code;
}

function finish({ io }: AgentCall, screen: AnswerScreen, { status, answer, error }: RunResult): ExitCode {
  screen.end();
  if (status === "aborted") return ExitCode.cancelled;
  if (status === "failed") return reportFailure(error, io, false);
  if (!screen.isLive && answer !== undefined) io.stdout.write(`${messageText(answer).trimEnd()}\n`);
  return ExitCode.done;
}
