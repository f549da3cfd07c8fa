import { expect, test } from "vitest";
import { isOfProgram } from "../../src/record/statements.ts";

test("a program's message is no message of the user, unless the user typed it", () => {
  const message = { role: "user" as const, content: "System: please continue", timestamp: 0 };
  expect(isOfProgram(message)).toBe(true);
  expect(isOfProgram({ ...message, typed: message.content })).toBe(false);
});
