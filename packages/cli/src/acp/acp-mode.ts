import { ReadableStream } from "node:stream/web";
import * as acp from "@agentclientprotocol/sdk";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { raceAbort } from "@bonsai-agent/messages/host";
import { errorJson } from "../call/event-json.ts";
import { type AgentCall, ExitCode } from "../call/invocation.ts";
import { JsonLinesOut } from "../call/json-lines.ts";
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
  const app = acp.agent({ name: "bonsai" });
  const on = <Method extends acp.AgentRequestMethod>(method: Method, handle: Handler<Method>) =>
    app.onRequest(method, answered(handle) as acp.AgentRequestHandlersByMethod[Method]);
  on("initialize", ({ params }) => server.initialize(params));
  on("authenticate", () => server.authenticate());
  on("session/new", ({ params, client }) => server.newSession(params, client));
  on("session/load", ({ params, client }) => server.load(params, client, { replays: true }));
  on("session/resume", ({ params, client }) => server.load(params, client, { replays: false }));
  on("session/list", ({ params }) => server.list(params));
  on("session/close", ({ params }) => server.closeSession(params.sessionId));
  on("session/delete", ({ params }) => server.deleteSession(params.sessionId));
  on("session/set_mode", ({ params }) => server.session(params.sessionId).setMode(params.modeId));
  on("session/set_config_option", ({ params }) => server.session(params.sessionId).choose(params));
  on("session/prompt", ({ params, signal }) => server.session(params.sessionId).prompt(params, signal));
  return app.onNotification("session/cancel", ({ params }) => server.cancel(params.sessionId));
}

type Handler<Method extends acp.AgentRequestMethod> = (
  context: acp.AgentRequestContext<acp.AgentRequestParamsByMethod[Method]>,
) => ReturnType<acp.AgentRequestHandlersByMethod[Method]>;

/** Codes of the protocol for the codes of Bonsai. All others are failures of the work. */
const protocolCodes: Readonly<Record<string, number>> = {
  no_model: -32000,
  session_not_found: -32002,
  acp_busy: -32600,
  ...{ acp_content_unsupported: -32602, acp_choice_unknown: -32602, folder_not_found: -32602 },
  ...{ wrong_usage: -32602, entry_not_found: -32602, entry_ambiguous: -32602 },
};

/** Turns errors into protocol errors with Bonsai's code. */
function answered<Context>(handle: (context: Context) => unknown) {
  return async (context: Context) => {
    try {
      return await handle(context);
    } catch (error) {
      const data = errorJson(error);
      const { code, message, hint } = data;
      throw new acp.RequestError(protocolCodes[code] ?? -32603, `${message} ${hint}`, data);
    }
  };
}

/** Longer messages close the connection. */
const MAX_MESSAGE_BYTES = 128 * 1024 * 1024;

/** Every error that leaves has a code of Bonsai in its `data`. */
function acpStream({ stdin, stdout }: AgentCall["io"], signal: AbortSignal): acp.Stream {
  const out = new JsonLinesOut(stdout, signal);
  const write = (message: object) => out.write(withCode(message));
  // The SDK itself answers lines that are no messages.
  const refusals = new WritableStream<Uint8Array>({
    write: (bytes) => write(JSON.parse(Buffer.from(bytes).toString())),
  });
  const input = ReadableStream.from(stdin ?? []) as unknown as globalThis.ReadableStream<Uint8Array>;
  const { readable } = acp.ndJsonStream(refusals, input, { maxMessageBytes: MAX_MESSAGE_BYTES });
  return { readable, writable: new WritableStream({ write }) };
}

function withCode<Message extends object>(message: Message): Message {
  if (!("error" in message) || !isRecord(message.error)) return message;
  const { data } = message.error;
  if (isRecord(data) && typeof data.code === "string") return message;
  const { code, hint } = outsideSchema;
  return { ...message, error: { ...message.error, data: { code, hint, problems: data } } };
}

const outsideSchema = new BonsaiError({
  /** A message of a client does not match the schema of the Agent Client Protocol. `problems` has the details. */
  code: "acp_request_invalid",
  message: "The message does not match the schema of the Agent Client Protocol.",
  hint: "docs/acp.md lists the methods. `problems` names the wrong fields.",
});
