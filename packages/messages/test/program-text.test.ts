import { describe, expect, test } from "vitest";
import { askedText, isProgramText } from "../src/host.ts";

describe("a program's text is known by its form", () => {
  const programTexts = [
    "<agent-notification>\n<agent-id>7</agent-id>\nDone.\n</agent-notification>",
    "<local-command-caveat>Caveat: these messages come from a command.</local-command-caveat>",
    "<command-name>/clear</command-name>\n<command-message>clear</command-message>",
    '<build_report status="ok">12 passed</build_report>',
    "Operation stopped by hook: tests must pass first",
    "PreToolUse operation blocked by hook: no pushes",
    "Execution stopped by PostToolUse hook",
    "System: Please continue.",
  ];
  test("whole elements, notifications and caveats", () => {
    for (const text of programTexts) expect.soft(isProgramText(` ${text}\n`), text).toBe(true);
  });
});

describe("a person's text stays a person's", () => {
  const personTexts = [
    "",
    "please fix <my-widget></my-widget>",
    "<my-widget></my-widget> does not show",
    "<div>hello</div>",
    "<task>write tests</task>",
    "<agent-notification> is shown as text, why?",
    "why was the operation stopped by hook?",
    "The hook stopped it: fix that",
    "System: restart it.\nThen look at the log.",
    "the system: please continue",
  ];
  test("also with elements inside it", () => {
    for (const text of personTexts) expect.soft(isProgramText(text), text).toBe(false);
  });

  test("the typed text is the request, whatever its form", () => {
    const text = "System: please continue";
    expect(askedText({ role: "user", content: text, typed: text })).toBe(text);
  });
});

test("a megabyte of open tags takes no time", () => {
  expect(isProgramText("<a-b>".repeat(200_000))).toBe(false);
  expect(isProgramText("<a-b></a-b>".repeat(100_000))).toBe(true);
});
