import { join } from "node:path";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { parseConfig, userHome, withConfigValue } from "../call/agent-config.ts";
import { type LaunchCommand, launchCommand } from "../call/launcher.ts";
import type { HookAgent } from "./hook-files.ts";

interface AgentRow {
  /** The agent's name for people. */
  label: string;
  /** The user's file, or that of a project. */
  file: (env: NodeJS.ProcessEnv, project: string | undefined) => string;
  /** The events with their matchers. */
  events: Readonly<Record<string, { matcher?: string }>>;
  handler: (launch: LaunchCommand) => object;
  /** The next step of the user after an install. */
  next: string;
}

/** In seconds. The hook needs less than one; a hanging disk must not hold up the agent. */
const TIMEOUT = 10;

export const AGENT_ROWS: Readonly<Record<HookAgent, AgentRow>> = {
  "claude-code": {
    label: "Claude Code",
    // The paths in the entry are of this machine, so a project's entry is in the file that is not shared.
    file: (env, project) =>
      project === undefined
        ? join(env.CLAUDE_CONFIG_DIR || join(userHome(env), ".claude"), "settings.json")
        : join(project, ".claude", "settings.local.json"),
    events: { PreCompact: {}, PostCompact: {}, SessionStart: { matcher: "compact" }, UserPromptSubmit: {} },
    handler: ({ command, args }) => ({ command, args }),
    next: "Claude Code reloads the file by itself. Run /hooks in Claude Code to check.",
  },
  codex: {
    label: "Codex",
    file: (env, project) =>
      join(
        project === undefined ? env.CODEX_HOME || join(userHome(env), ".codex") : join(project, ".codex"),
        "hooks.json",
      ),
    events: { SessionStart: { matcher: "compact" } },
    handler: ({ command, args: [launcher = "", ...words] }) => ({
      command: [quoted(command), quoted(launcher), ...words].join(" "),
    }),
    next: "Codex runs the hook only after you approve it: start Codex and run /hooks.",
  },
};

/** Codex runs a command through the login shell. */
function quoted(path: string): string {
  return process.platform === "win32" ? `"${path}"` : `'${path.replaceAll("'", "'\\''")}'`;
}

/** The end of the command in an entry, as JSON. */
const OWN_CALL = /launcher\.mjs\W+hook\W+run\W/;

/** The text of an agent's settings with the hook. Other settings do not change. */
export function withHook(agent: HookAgent, text: string, file: string, home: string): string {
  const { events, handler } = AGENT_ROWS[agent];
  const own = {
    type: "command",
    ...handler(launchCommand(home, "hook", "run", agent)),
    timeout: TIMEOUT,
  };
  const groups = Object.entries(events).map(
    ([event, matcher]) => [event, { ...matcher, hooks: [own] }] as const,
  );
  const former = ownPlaces(text, file).map(({ group }) => JSON.stringify(group));
  if (groups.map(([, group]) => JSON.stringify(group)).join() === former.join()) return text;
  let changed = withoutHook(text, file);
  for (const [event, group] of groups) {
    const { hooks } = parseConfig(changed, file);
    const isKnown = isRecord(hooks) && Array.isArray(hooks[event]);
    changed = withConfigValue(changed, ["hooks", event, ...(isKnown ? [-1] : [])], isKnown ? group : [group]);
  }
  return changed;
}

/** The text without the hook. A handler of the user's in the same group stays. */
export function withoutHook(text: string, file: string): string {
  let changed = text;
  for (let [place] = ownPlaces(changed, file); place !== undefined; [place] = ownPlaces(changed, file))
    changed = withConfigValue(changed, place.path, undefined);
  return changed;
}

/** `outdated`: the entry names another Node or another folder of Bonsai. */
export type HookInstallation = "installed" | "outdated" | "not installed" | "unreadable";

export function hookInstallation(
  agent: HookAgent,
  text: string,
  file: string,
  home: string,
): HookInstallation {
  try {
    if (ownPlaces(text, file).length === 0) return "not installed";
    return withHook(agent, text, file, home) === text ? "installed" : "outdated";
  } catch (error) {
    if (BonsaiError.is(error)) return "unreadable";
    throw error;
  }
}

interface OwnPlace {
  path: (string | number)[];
  group: Record<string, unknown>;
}

/** The groups of hooks with Bonsai's handler: the path of the group if it has no other handler, else of the handler. */
function ownPlaces(text: string, file: string): OwnPlace[] {
  const { hooks } = parseConfig(text, file);
  if (!isRecord(hooks)) return [];
  return Object.entries(hooks).flatMap(([event, groups]) =>
    (Array.isArray(groups) ? groups : []).flatMap((group: unknown, at): OwnPlace[] => {
      const handlers = isRecord(group) && Array.isArray(group.hooks) ? group.hooks : [];
      const own = handlers.findIndex((handler) => OWN_CALL.test(JSON.stringify(handler)));
      if (own < 0) return [];
      const path = ["hooks", event, at, ...(handlers.length === 1 ? [] : ["hooks", own])];
      return [{ path, group: group as Record<string, unknown> }];
    }),
  );
}
