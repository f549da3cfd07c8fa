import { createSession, type Session, type StoredMessage } from "@bonsai-agent/session";
import { everyRow } from "@bonsai-agent/testkit";
import { expect, test } from "vitest";
import { compactionSettings, readContext } from "../src/index.ts";

const IMAGE = { type: "image" as const, data: "AAAA", mimeType: "image/png" };
const textOnly = { input: ["text"] } as const;

function sessionWithImages(count: number, isToolResult = false): Session {
  const session = createSession({ cwd: "/work" });
  const words = { type: "text" as const, text: "Look at these." };
  const images = Array.from({ length: count }, () => IMAGE);
  const message = isToolResult
    ? { role: "toolResult", toolCallId: "t", toolName: "read", isError: false }
    : { role: "user" };
  const content = [words, ...images];
  session.append({ type: "message", message: { ...message, content, timestamp: 1 } as StoredMessage });
  return session;
}

test("images count only for a model that accepts them", () =>
  everyRow(
    ["calibrated", "chars4"].flatMap((estimator) =>
      [true, false].map((isResult) => ({ estimator, isResult })),
    ),
  )(({ estimator, isResult }) => {
    const settings = compactionSettings({}, { estimator } as Parameters<typeof compactionSettings>[1]);
    const session = sessionWithImages(19, isResult);
    const tokens = (model?: { input: readonly ("text" | "image")[] }) =>
      readContext({ session, estimator: settings.estimator, model }).tokens;
    expect(tokens()).toBeGreaterThan(19 * 1_200);
    expect(tokens({ input: ["text", "image"] })).toBe(tokens());
    expect(tokens(textOnly)).toBeLessThan(400);
    expect(tokens()).toBeGreaterThan(19 * 1_200);
  }));
