import * as acp from "@agentclientprotocol/sdk";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { knownError } from "../call/failure.ts";
import { type AgentCall, ExitCode } from "../call/invocation.ts";
import { JsonLinesOut, linesIn } from "../call/json-lines.ts";
import { interruptibleCall } from "../call/run-prompt.ts";
import { AcpServer } from "./acp-server.ts";

/** Serves one client of the Agent Client Protocol on standard input and output, until the client leaves. */
export function runAcp(call: AgentCall): Promise<ExitCode> {
  return interruptibleCall(call, async (signal) => {
    const server = new AcpServer(call);
    const connection = acpAgent(server).connect(acpStream(call.io, signal));
    try {
      await raceAbort(connection.closed, signal, () => undefined);
    } finally {
      if (signal.aborted) call.io.stdin?.destroy?.();
      connection.close();
      await server.close();
    }
    return signal.aborted ? ExitCode.cancelled : ExitCode.done;
  });
}

function acpAgent(server: AcpServer): acp.AgentApp {
  const { agent } = acp.methods;
  return acp
    .agent({ name: "bonsai" })
    .onRequest(
      agent.initialize,
      answered(({ params }) => server.initialize(params)),
    )
    .onRequest(
      agent.authenticate,
      answered(() => server.authenticate()),
    )
    .onRequest(
      agent.session.new,
      answered(({ params, client }) => server.newSession(params, client)),
    )
    .onRequest(
      agent.session.load,
      answered(({ params, client }) => server.load(params, client, { replays: true })),
    )
    .onRequest(
      agent.session.resume,
      answered(({ params, client }) => server.load(params, client, { replays: false })),
    )
    .onRequest(
      agent.session.list,
      answered(({ params }) => server.list(params)),
    )
    .onRequest(
      agent.session.close,
      answered(({ params }) => server.closeSession(params.sessionId)),
    )
    .onRequest(
      agent.session.delete,
      answered(({ params }) => server.deleteSession(params.sessionId)),
    )
    .onRequest(
      agent.session.setMode,
      answered(({ params }) => server.session(params.sessionId).setMode(params.modeId)),
    )
    .onRequest(
      agent.session.setConfigOption,
      answered(async ({ params: { sessionId, configId, value } }) => ({
        configOptions: await server.session(sessionId).choose(configId, value),
      })),
    )
    .onRequest(
      agent.session.prompt,
      answered(({ params, signal }) => server.session(params.sessionId).prompt(params.prompt, signal)),
    )
    .onNotification(agent.session.cancel, ({ params }) => server.findSession(params.sessionId)?.cancel());
}

type Handler<Params, Response> = acp.AgentRequestHandler<Params, Response>;

/** Turns errors into protocol errors with Bonsai's code. */
function answered<Params, Response>(handle: Handler<Params, Response>): Handler<Params, Response> {
  return async (context) => {
    try {
      return await handle(context);
    } catch (error) {
      throw requestError(error);
    }
  };
}

/** Codes of the protocol for the codes of Bonsai. All others are failures of the work. */
const protocolCodes: Readonly<Record<string, number>> = {
  no_model: -32000,
  session_not_found: -32002,
  acp_busy: -32600,
  ...{ acp_content_unsupported: -32602, acp_choice_unknown: -32602, folder_not_found: -32602 },
  ...{ wrong_usage: -32602, entry_not_found: -32602, entry_ambiguous: -32602 },
};

function requestError(error: unknown): acp.RequestError {
  const { code, message, hint } = knownError(error);
  return new acp.RequestError(protocolCodes[code] ?? -32603, `${message} ${hint}`, { code, message, hint });
}

/** JSON lines as messages. Every error that leaves has a code of Bonsai in its `data`. */
function acpStream({ stdin, stdout }: AgentCall["io"], signal: AbortSignal): acp.Stream {
  const out = new JsonLinesOut(stdout, signal);
  const lines = stdin === undefined ? undefined : linesIn(stdin);
  return {
    writable: new WritableStream({ write: (message) => out.write(withCode(message)) }),
    readable: new ReadableStream({
      async pull(controller) {
        for (;;) {
          const next = await lines?.next();
          if (next === undefined || next.done) return controller.close();
          const message = "text" in next.value ? parsed(next.value.text) : undefined;
          if (message === "") continue;
          if (message !== undefined) return controller.enqueue(message as acp.AnyMessage);
          const error = { code: -32700, message: "The line is not JSON." };
          await out.write(withCode({ jsonrpc: "2.0", id: null, error }));
        }
      },
    }),
  };
}

/** An empty text for an empty line; undefined for a line that is not JSON. */
function parsed(text: string): unknown {
  if (text.trim() === "") return "";
  try {
    return JSON.parse(text.replace(/^\ufeff/, ""));
  } catch {
    return undefined;
  }
}

function withCode<Message extends object>(message: Message): Message {
  if (!("error" in message) || !isRecord(message.error)) return message;
  const { data } = message.error;
  if (isRecord(data) && typeof data.code === "string") return message;
  /** The request is not part of the Agent Client Protocol, or has a wrong field. */
  const { code, hint } = outsideSchema;
  return { ...message, error: { ...message.error, data: { code, hint, problems: data } } };
}

const outsideSchema = new BonsaiError({
  /** A message of a client is outside the schema of the Agent Client Protocol. `problems` has the details. */
  code: "acp_request_invalid",
  message: "The message is outside the schema of the Agent Client Protocol.",
  hint: "docs/acp.md lists the methods. `problems` names the wrong fields.",
});
