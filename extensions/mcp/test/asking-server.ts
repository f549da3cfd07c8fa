import type { ExtensionContext } from "@bonsai-agent/extension";
import { openTestSession, type TestDialogAnswers, type TestSession } from "@bonsai-agent/extension/testing";
import { Client, type ElicitRequestFormParams, InMemoryTransport } from "@modelcontextprotocol/client";
import { Server } from "@modelcontextprotocol/server";
import { UserRequests } from "../src/user-requests.ts";

export interface AskingServer extends AsyncDisposable {
  server: Server;
  requests: UserRequests;
  session: TestSession;
  /** Pages that the browser opened. */
  opened: string[];
}

export interface AskingServerOptions {
  /** The user's answers. Default: there is no user. */
  ui?: TestDialogAnswers;
  hasRoots?: boolean;
}

/** A server named "asker" in this process, connected to a session. */
export async function openServer({ ui, hasRoots = true }: AskingServerOptions = {}): Promise<AskingServer> {
  let context: ExtensionContext | undefined;
  const session = await openTestSession({
    ...(ui && { ui }),
    extensions: (bonsai) => {
      bonsai.on("session_start", (_event, ctx) => {
        context = ctx;
      });
    },
  });
  const opened: string[] = [];
  const openBrowser = async (url: string) => opened.push(url) > 0;
  const requests = new UserRequests({ context: () => context, openBrowser });
  const client = new Client({ name: "test", version: "1" });
  requests.attach(client, { name: "asker", config: { hasRoots }, pauseCalls: () => () => {} });
  const server = new Server({ name: "asker", version: "1" }, { capabilities: {} });
  const [ofClient, ofServer] = InMemoryTransport.createLinkedPair();
  await Promise.all([client.connect(ofClient), server.connect(ofServer)]);
  return {
    server,
    requests,
    session,
    opened,
    async [Symbol.asyncDispose]() {
      await client.close();
      await session.close();
    },
  };
}

export function form(
  properties: ElicitRequestFormParams["requestedSchema"]["properties"],
  required: string[] = [],
): ElicitRequestFormParams {
  return { message: "Who are you?", requestedSchema: { type: "object", properties, required } };
}

/** The arguments of all calls of one dialog. */
export function asked(session: TestSession, method: string): [title: string, options: string[]][] {
  const calls = session.ui.filter((call) => call.method === method);
  return calls.map(({ args }) => args as [string, string[]]);
}

/** True for a text with an escape, or with a mark that reverses its direction. */
export function steersTerminal(text: string): boolean {
  return ["\u001b", "\u202e"].some((mark) => text.includes(mark));
}

/** Chooses the options that begin with these words, one after the other. Undefined leaves the dialog. */
export function choosing(...wanted: (string | undefined)[]) {
  return async (_title: string, options: string[]) => {
    const next = wanted.shift();
    if (next === undefined) return undefined;
    const found = options.find((option) => option.trim().startsWith(next));
    if (found === undefined) throw new Error(`No option of ${options.join(" | ")} begins with ${next}`);
    return found;
  };
}
