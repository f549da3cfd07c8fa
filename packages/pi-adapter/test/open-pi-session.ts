import { fileURLToPath } from "node:url";
import { hostModules } from "@bonsai-agent/extension/host";
import {
  type OpenTestSessionOptions,
  openTestSession,
  type TestSession,
} from "@bonsai-agent/extension/testing";
import { piAdapter, piModules } from "../src/index.ts";

const opened: TestSession[] = [];

/** A session with extensions of the folder of fixtures, as a front end runs those that were written for pi. */
export async function openPiSession(
  fixtures: string | readonly string[],
  options: OpenTestSessionOptions = {},
): Promise<TestSession> {
  const session = await openTestSession({
    extensions: [fixtures].flat().map(fixturePath),
    adapter: piAdapter(),
    modules: { ...hostModules(), ...piModules() },
    ...options,
  });
  opened.push(session);
  return session;
}

/** Call it in `afterEach`. */
export async function closeSessions(): Promise<void> {
  for (const session of opened.splice(0)) await session.close();
}

export function fixturePath(name: string): string {
  return fileURLToPath(new URL(`fixtures/${name}.ts`, import.meta.url));
}

/** The extensions' notices to the user, oldest first. */
export function notified({ ui }: TestSession): unknown[] {
  return ui.filter(({ method }) => method === "notify").map(({ args }) => args[0]);
}
