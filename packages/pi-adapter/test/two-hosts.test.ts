import { afterEach, expect, test } from "vitest";
import { closeSessions, notified, openPiSession } from "./open-pi-session.ts";

afterEach(closeSessions);

test("each of two hosts in a process answers what its own extension asks", async () => {
  const first = Promise.withResolvers<string>();
  const one = await openPiSession("ask-later", { ui: { input: () => first.promise }, replies: ["by one"] });
  const two = await openPiSession("ask-later", { ui: { input: ["now"] }, replies: ["by two"] });
  const asked = one.command("/ask");
  await two.command("/ask");
  first.resolve("later");
  await asked;
  expect([notified(one), notified(two)]).toEqual([["by one"], ["by two"]]);
});
