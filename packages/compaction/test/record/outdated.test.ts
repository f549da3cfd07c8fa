import { expect, test } from "vitest";
import { recordAfter } from "../../src/carry/record.ts";
import type { SourceMessage } from "../../src/record/statements.ts";
import { ran, said } from "./run-messages.ts";

const GO = "--- FAIL: TestResume (0.2s)\n    resume_test.go:88: event applied twice\nFAIL";
const red = [
  ...ran("go test ./...", GO, 1, "f"),
  said("assistant", "`TestResume` is red. I look at it.", "s1"),
];
const green = (command: string) => [...ran(command, "ok"), said("assistant", "`TestResume` is green.", "s2")];

const record = (messages: readonly SourceMessage[], following: readonly SourceMessage[] = []) =>
  recordAfter({ messages, following, wordsTokens: 4_000 });
const texts = (...options: Parameters<typeof record>) => record(...options).closings.map(({ text }) => text);
const lines = (...options: Parameters<typeof record>) =>
  record(...options).outcomes.failing.map(({ line }) => line);

test("marks a failure whose test passes in a narrower run", () => {
  const again = [said("user", "Fix it."), ...red, ...green("go test -run Resume ./...")];
  expect(lines(again)).toEqual(["TestResume: resume_test.go:88: event applied twice [fixed in 1]"]);
});

test("keeps a failure open if a narrower run checks another part", () => {
  for (const other of ["go test -run Parse ./...", "go vet ./...", "make TestResume"])
    expect(lines([...red, ...green(other)])).toEqual(["TestResume: resume_test.go:88: event applied twice"]);
});

test("marks the agent's sentence about a failure that a later run closes", () => {
  const again = [said("user", "Fix it."), ...red, said("user", "Go on."), ...green("go test ./...")];
  expect(texts(again)).toEqual(["`TestResume` is red [fixed in 2]. I look at it.", "`TestResume` is green."]);
});

test("marks no sentence from before the failure, and none after a passed check", () => {
  const before = said("assistant", "`TestResume` covers the restart.", "s0");
  const after = [...ran("go vet ./...", "ok"), said("assistant", "`TestResume` needs a clock.", "s3")];
  expect(texts([before, ...red, ...after, ...green("go test ./...")])).toEqual([
    "`TestResume` covers the restart.",
    "`TestResume` is red [fixed in 0]. I look at it.",
    "`TestResume` needs a clock.",
    "`TestResume` is green.",
  ]);
});

test("marks a sentence of an earlier summary, and for a run in the kept part", () => {
  const marked = ["`TestResume` is red [fixed in 0]. I look at it."];
  const messages = [...ran("go test ./...", "ok"), said("assistant", "Done.", "s2")];
  const next = recordAfter({ earlier: record(red), messages, wordsTokens: 4_000 });
  expect(next.closings.map(({ text }) => text)).toEqual([...marked, "Done."]);
  expect(texts(red, green("go test ./..."))).toEqual(marked);
});

test("a part of a check closes nothing in another folder", () => {
  const folder = [
    ...ran("cd a && go test ./...", GO, 1, "f"),
    ...ran("cd b && go test -run Resume ./...", "ok"),
  ];
  expect(lines(folder)).toEqual(["TestResume: resume_test.go:88: event applied twice"]);
});
