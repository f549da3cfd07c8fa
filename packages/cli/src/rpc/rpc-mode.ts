import type { ReviewCompaction } from "@bonsai-agent/compaction";
import { sleep } from "@bonsai-agent/messages/host";
import { AgentHost } from "../call/agent-host.ts";
import { openAppContext } from "../call/app-context.ts";
import { type AgentCall, ExitCode } from "../call/invocation.ts";
import { JsonLinesOut, linesIn } from "../call/json-lines.ts";
import { outputJson } from "../call/output.ts";
import { refuseWords } from "../call/prompt-input.ts";
import { interruptibleCall } from "../call/run-prompt.ts";
import { dialogReview, draftReport } from "../views/draft-view.ts";
import { RpcDispatcher } from "./dispatcher.ts";
import { rpcEvents } from "./events.ts";
import type { RpcNote, RpcResponse } from "./protocol.ts";
import { RpcUi } from "./rpc-ui.ts";
import { RpcRuns, SerialisedData } from "./runs.ts";

/** Reads commands from standard input and writes responses and events to standard output, one JSON value per line. */
export function runRpc(call: AgentCall): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const out = new JsonLinesOut(call.io.stdout, signal);
    const note = (line: RpcNote) => void out.write(line);
    const asked = new RpcUi((request) => void out.write(request));
    const runs = new RpcRuns(note);
    let host: AgentHost | undefined;
    const shutdown = new AbortController();
    const stopped = AbortSignal.any([signal, shutdown.signal]);
    const events = rpcEvents(
      () => host,
      (event) => out.write(event),
    );
    const app = await openAppContext(call, {
      onNotice: (notice) => {
        if (notice.code === "model_retry") runs.isRetrying = true;
        note({ type: "notice", ...notice });
      },
      ui: asked.ui,
      reviewCompaction: rpcReview(asked, note, stopped, () => host),
      signal,
      listen: (lifecycle) => {
        events.listen(lifecycle);
        runs.listen(lifecycle);
      },
    });
    try {
      refuseWords(app.call);
      host = await AgentHost.open(app);
      const dispatcher = new RpcDispatcher(
        {
          work: { host, runs, note, stopped, shutdown: () => shutdown.abort() },
          answer: (answer) => asked.answer(answer),
          questionWaits: () => asked.waiting(),
          respond: (response) => out.writeJson(responseJson(response)),
          onAnswer: () => events.writeQueue(),
        },
        host.start(),
      );
      const ended = AbortSignal.any([stopped, app.ending]);
      await serve({ stdin: app.call.io.stdin, dispatcher, asked, signal, ended });
      asked.close();
      if (stopped.aborted) await host.stop();
      await runs.idle(host);
    } finally {
      asked.close();
      await host?.close();
      app.close();
    }
    return signal.aborted ? ExitCode.cancelled : ExitCode.done;
  });
}

/**
 * Writes the draft as a line, then asks about it in dialogs. If the client has left, automatic compactions are applied
 * without an answer; manual ones are not.
 */
function rpcReview(
  asked: RpcUi,
  note: (line: RpcNote) => void,
  stopped: AbortSignal,
  host: () => AgentHost | undefined,
): ReviewCompaction {
  const model = () => host()?.agent.model ?? { provider: "", id: "" };
  const review = dialogReview(asked.ui, model);
  return async (draft) => {
    if (asked.isClosed) return { action: "apply" };
    note({ type: "compaction_draft", draft: draftReport(draft, model()) });
    const decision = await review(draft);
    const isUnanswered = asked.isClosed && !stopped.aborted && decision.action === "cancel";
    return isUnanswered && draft.reason !== "manual" ? { action: "apply" } : decision;
  };
}

function responseJson({ data, ...head }: RpcResponse & { data?: unknown }): string {
  if (!(data instanceof SerialisedData)) return outputJson({ ...head, data });
  return `${outputJson(head).slice(0, -1)},"data":${data.json}}`;
}

/** Waits this long after `shutdown` for a running command. */
const SHUTDOWN_MS = 5_000;

interface ServeOptions {
  stdin: AgentCall["io"]["stdin"];
  dispatcher: RpcDispatcher;
  asked: RpcUi;
  signal: AbortSignal;
  /** Aborted when no more lines are needed. The last response is still written. */
  ended: AbortSignal;
}

/**
 * Reads lines until the input ends or no more are needed. It reads ahead: a line may answer the question of a running
 * command, or stop it.
 */
async function serve({ stdin, dispatcher, asked, signal, ended }: ServeOptions): Promise<void> {
  const interrupted = aborted(signal);
  const stop = aborted(ended);
  let last = dispatcher.receive({ text: "" });
  const failed = last.then(() => new Promise<never>(() => {}));
  failed.catch(() => {});
  const lines = stdin === undefined ? undefined : linesIn(stdin);
  while (lines !== undefined && !ended.aborted) {
    const next = await Promise.race([lines.next(), stop, failed]);
    if (next === undefined || next.done) break;
    last = dispatcher.receive(next.value);
    if (dispatcher.isFull) await Promise.race([last, asked.waiting(), interrupted]);
  }
  if (ended.aborted) stdin?.destroy?.();
  else await Promise.race([last, asked.waiting(), interrupted]);
  // The client answers no more questions: waiting work continues without an answer.
  asked.close();
  const patience = new AbortController();
  const late = ended.aborted ? [sleep(SHUTDOWN_MS, patience.signal)] : [];
  // A timer left running would keep the process open.
  await Promise.race([last, interrupted, ...late]).finally(() => patience.abort());
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
