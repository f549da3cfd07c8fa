import { existsSync } from "node:fs";
import { hostname } from "node:os";
import type { LifecycleEvents, RunResult } from "@bonsai-agent/agent";
import type { Lifecycle } from "@bonsai-agent/lifecycle";
import { BonsaiError } from "@bonsai-agent/messages";
import type { JobAttempt, JobOutcome, PromptJob } from "@bonsai-agent/postgres/jobs";
import { AgentHost } from "../call/agent-host.ts";
import { openAppContext } from "../call/app-context.ts";
import { withDatabase } from "../call/database.ts";
import { type AgentCall, ExitCode, type Invocation } from "../call/invocation.ts";
import { bonsaiVersion } from "../version.ts";
import { span } from "../views/line.ts";
import { counted } from "../views/numbers.ts";
import { summaryMaker } from "./worker-summaries.ts";

const DEFAULT_CONCURRENCY = 4;
const DEFAULT_GRACE_SECONDS = 60;

/** Works on queued prompts until SIGTERM or Ctrl-C; running work may then end within the grace time. */
export async function run(invocation: Invocation): Promise<ExitCode> {
  const { options, io, output } = invocation;
  if (options.demo === true) return (await import("../demo/workers-demo.ts")).run(invocation);
  const concurrency = typeof options.concurrency === "number" ? options.concurrency : DEFAULT_CONCURRENCY;
  const graceSeconds = typeof options.grace === "number" ? options.grace : DEFAULT_GRACE_SECONDS;
  return io.interruptible((signal) =>
    withDatabase(invocation, async ({ pool, sessions }) => {
      const { sessionJobs } = await import("@bonsai-agent/postgres/jobs");
      const jobs = sessionJobs({
        ...{ pool, sessions },
        onError: ({ code, message }) => output.notify({ code, message }),
      });
      const print = (line: { job?: string; session: string; event: string; detail: string }) =>
        output.wantsJson
          ? output.json(line)
          : output.lines([
              [span(line.session.slice(0, 8), "cyan"), ` ${line.event} ${line.detail}`.trimEnd()],
            ]);
      const graceMs = graceSeconds * 1_000;
      const makeSummaries = await summaryMaker(invocation);
      await jobs.work({
        concurrency,
        run: (job, attempt) => runJob(invocation, job, attempt),
        onAttempt: ({ id, sessionId }, event, detail = "") =>
          print({ job: id, session: sessionId, event, detail }),
      });
      output.notify({
        code: "worker_ready",
        message: `${hostname()}:${process.pid} works on ${counted(concurrency, "session")} at a time. SIGTERM drains it.`,
      });
      const summaries = makeSummaries({
        ...{ pool, concurrency, signal, graceMs },
        log: (session, event, model) => print({ session, event, detail: model }),
      });
      await new Promise<void>((resolve) => {
        if (signal.aborted) resolve();
        else signal.addEventListener("abort", () => resolve(), { once: true });
      });
      await Promise.all([jobs.stop({ graceMs }), summaries]);
      return ExitCode.done;
    }),
  );
}

const RESUMED =
  "The host that worked on this stopped. Another host continues. Results say which calls did not end. Continue the task.";

/** Runs one prompt in the folder of its session, if this host has it. */
async function runJob(
  { options, io, output }: Invocation,
  job: PromptJob,
  { session, isResumed, promptAppended, ended, signal }: JobAttempt,
): Promise<JobOutcome> {
  const cwd = existsSync(session.cwd) ? session.cwd : io.cwd;
  const call = agentCall({ options, output, io: { ...io, cwd } });
  const app = await openAppContext(call, {
    signal,
    onNotice: ({ code, message }) => output.notify({ code, message }),
    listen: isResumed ? () => {} : (lifecycle) => notePrompt(lifecycle, promptAppended),
  });
  try {
    const host = await AgentHost.open(app, { session });
    const stop = () => void host.agent.abort();
    signal.addEventListener("abort", stop, { once: true });
    try {
      await host.start();
      const result = isResumed
        ? await resume(host)
        : await host.agent.prompt(job.prompt, { source: "print" });
      if (signal.aborted) throw signal.reason;
      const outcome = outcomeOf(result);
      ended();
      return outcome;
    } finally {
      signal.removeEventListener("abort", stop);
      await host.close();
    }
  } finally {
    app.close();
  }
}

/** Continues unfinished work. If the last answer needs nothing more, the work had ended. */
async function resume({ agent }: AgentHost): Promise<RunResult | undefined> {
  const last = agent.session.projection().items.at(-1)?.message;
  if (last?.role === "assistant" && last.stopReason === "stop") return { status: "done", answer: last };
  return agent.sendMessage(
    { customType: "bonsai.resumed", content: RESUMED, display: true },
    { triggerTurn: true },
  );
}

/** @throws the error of a failed run: the job is tried again */
function outcomeOf(result: RunResult | undefined): JobOutcome {
  if (result?.status !== "failed") return { status: result?.status ?? "done" };
  throw (
    result.error ??
    new BonsaiError({
      code: "job_failed",
      message: "The run failed without a reason.",
      hint: "Run `bonsai jobs` to see the job, and its session for the messages.",
    })
  );
}

function notePrompt(lifecycle: Lifecycle<LifecycleEvents>, promptAppended: () => void): void {
  let isNoted = false;
  lifecycle.on("message_stored", ({ message }) => {
    if (isNoted || message.role !== "user") return;
    isNoted = true;
    promptAppended();
  });
}

/** A call of the agent with the flags of the worker, as in print mode. */
function agentCall({ options, io, output }: Pick<AgentCall, "options" | "io" | "output">): AgentCall {
  const {
    database: _url,
    concurrency: _count,
    grace: _seconds,
    lease: _lease,
    json: _json,
    ...given
  } = options;
  const call: AgentCall = {
    ...{ io, output, options: { ...given, mode: "text", print: true, database: false } },
    ...{ words: [], unknownFlags: [], argv: [], version: bonsaiVersion() },
    withFlags: () => ({ call, values: new Map(), taken: [] }),
  };
  return call;
}
