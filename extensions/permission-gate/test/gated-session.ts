import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { afterAll, onTestFinished } from "vitest";
import permissionGate from "../index.ts";

/** A session with the gate, until the test or the test file ends. */
export async function openGated(
  options: OpenTestSessionOptions = {},
  until: "test" | "file" = "test",
): Promise<TestSession> {
  const open = await openTestSession({ extensions: permissionGate, ...options });
  if (until === "test") onTestFinished(() => open.close());
  else afterAll(() => open.close());
  return open;
}

/** The gate's answer to a command, without running it. */
export async function asked(
  command: unknown,
  options: OpenTestSessionOptions = {},
  session?: TestSession,
): Promise<string | undefined> {
  const open = session ?? (await openGated(options));
  const input = { command } as Record<string, unknown>;
  const { result } = await open.lifecycle.decide("tool_call", {
    type: "tool_call",
    toolCallId: "1",
    toolName: "bash",
    input,
  });
  return result?.block === true ? result.reason : undefined;
}
