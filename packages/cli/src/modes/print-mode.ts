import type { RunResult } from "@bonsai-agent/agent";
import { messageText } from "@bonsai-agent/messages";
import { ExitCode } from "../exit-code.ts";
import { terminalUi } from "../extensions/terminal-ui.ts";
import { reportFailure } from "../failure.ts";
import type { AgentCall } from "../invocation.ts";
import { AgentHost } from "../work/agent-host.ts";
import { type PromptInput, requiredPrompt } from "../work/prompt-input.ts";
import { openWorkshop, type Workshop } from "../work/workshop.ts";
import { AnswerScreen } from "./answer-screen.ts";
import { interruptibleCall } from "./interruptible-call.ts";
import { PrintProgress } from "./print-progress.ts";
import { promptUntil } from "./prompt-until.ts";
import { RunCost } from "./run-cost.ts";

/**
 * One prompt, its answer on stdout, everything else on stderr.
 * @param given the prompt, where it was read already
 */
export function runPrint(call: AgentCall, given?: PromptInput): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const screen = new AnswerScreen(call.io.stdout);
    const progress = new PrintProgress(call, screen);
    const cost = new RunCost();
    const ui = terminalUi({ io: call.io, output: call.output, signal, onShow: () => screen.endLine() });
    try {
      const workshop = await openWorkshop(call, {
        tell: (notice) => progress.notice(notice),
        ui,
        signal,
        listen: (lifecycle) => {
          for (const listener of [cost, progress, screen]) listener.listen(lifecycle);
        },
      });
      try {
        const input = given ?? (await requiredPrompt(workshop.call));
        return await run({ call, workshop, screen, progress, cost, input, signal });
      } finally {
        workshop.close();
      }
    } finally {
      ui?.close();
    }
  });
}

interface Print {
  call: AgentCall;
  workshop: Workshop;
  screen: AnswerScreen;
  progress: PrintProgress;
  cost: RunCost;
  input: PromptInput;
  signal: AbortSignal;
}

async function run({ call, workshop, screen, progress, cost, input, signal }: Print): Promise<ExitCode> {
  const host = await AgentHost.open(workshop);
  try {
    await host.start();
    const result = await promptUntil(host, input, signal);
    const code = finish(call, screen, result);
    progress.result(result);
    progress.ended(result, host.agent.state, cost);
    return code;
  } finally {
    await host.close();
  }
}

function finish({ io }: AgentCall, screen: AnswerScreen, { status, answer, error }: RunResult): ExitCode {
  screen.end();
  if (status === "aborted") return ExitCode.cancelled;
  if (status === "failed") return reportFailure(error, io, false);
  if (!screen.isLive && answer !== undefined) io.stdout.write(`${messageText(answer).trimEnd()}\n`);
  return ExitCode.done;
}
