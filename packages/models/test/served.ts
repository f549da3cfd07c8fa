import { type LoopbackReply, type LoopbackServer, loopbackServer } from "@bonsai-agent/testkit";
import { onTestFinished } from "vitest";

/** A server with one reply to everything, until the test ends. */
export async function served(reply: LoopbackReply): Promise<LoopbackServer> {
  const server = await loopbackServer(() => reply);
  onTestFinished(() => server.close());
  return server;
}
