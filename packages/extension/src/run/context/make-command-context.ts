import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionCommandContext, ExtensionContext, WithSession } from "../../api/extension-context.ts";
import type { SessionControl } from "../extension-host.ts";
import type { ScopedHost } from "../scoped-host.ts";
import { waitsForItself } from "../waits-for-itself.ts";
import type { CommandContextExtras } from "./context-extras.ts";
import { makeContext } from "./make-context.ts";

type SessionMoves = Omit<ExtensionCommandContext, keyof ExtensionContext>;

/** What command handlers get. */
export function makeCommandContext(host: ScopedHost, extras: CommandContextExtras): ExtensionCommandContext {
  const moves = sessionMoves(host, extras);
  const context = makeContext(host, extras);
  // Copied as getters: a context is always of now.
  return Object.defineProperties(moves, Object.getOwnPropertyDescriptors(context)) as SessionMoves &
    ExtensionContext;
}

function sessionMoves(host: ScopedHost, extras: CommandContextExtras): SessionMoves {
  const control = (call: keyof SessionControl): SessionControl => {
    extras.checkLoaded(`ctx.${call}`);
    return host.control ?? noControl(extras.extensionPath);
  };
  /** Whoever follows gets a context of the session that is worked in then. */
  const followed = async (isDone: boolean, withSession: WithSession["withSession"]) => {
    if (!isDone) return { cancelled: true };
    const context = makeCommandContext(host, extras);
    await withSession?.(extras.adapt?.(context) ?? context);
    return { cancelled: false };
  };
  return {
    async waitForIdle() {
      const agent = host.agent();
      if (agent?.isWaitingForCaller === true) throw waitsForItself("waitForIdle");
      await agent?.idle();
    },
    async newSession({ parentSession, withSession } = {}) {
      const options = parentSession === undefined ? {} : { parentSession };
      return followed(await control("newSession").newSession(options), withSession);
    },
    async fork(entryId, { position = "before", withSession } = {}) {
      return followed(await control("fork").fork(entryId, { position }), withSession);
    },
    async navigateTree(targetId, options = {}) {
      return { cancelled: !(await control("navigateTree").navigateTree(targetId, options)) };
    },
    async switchSession(sessionPath, { withSession } = {}) {
      return followed(await control("switchSession").switchSession(sessionPath), withSession);
    },
    async reload() {
      extras.checkLoaded("ctx.reload");
      await extras.reload();
    },
  };
}

function noControl(extensionPath: string): never {
  throw new BonsaiError({
    code: "extension_session_fixed",
    message: `${extensionPath} wanted to go to another place or session, which cannot be done here.`,
    hint: "Run the command in an interactive session, or over RPC.",
  });
}
