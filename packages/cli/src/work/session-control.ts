import type { Agent } from "@bonsai-agent/agent";
import type { SessionControl } from "@bonsai-agent/extension";
import type { Session } from "@bonsai-agent/session";
import { pathInMemory } from "../rehearsal.ts";
import { resolveEntryId, sessionPath } from "../session-file.ts";
import { forkedSession, newSession, opened, placeOf, type SessionChoice } from "./session-choice.ts";
import type { Workshop } from "./workshop.ts";

/** What goes from session to session. */
export interface SessionMover {
  readonly workshop: Workshop;
  readonly agent: Agent;
  replace(reason: "new" | "resume", choice: SessionChoice): Promise<boolean>;
  fork(entryId: string, choice: SessionChoice, position: "before" | "at"): Promise<boolean>;
}

/** How commands of extensions go elsewhere: as the user would. */
export function sessionControl(mover: SessionMover): SessionControl {
  return {
    newSession: async ({ parentSession }) => mover.replace("new", freshChoice(mover, parentSession)),
    switchSession: async (name) => mover.replace("resume", namedChoice(mover, name)),
    fork: async (entryId, { position }) => {
      const id = resolveEntryId(mover.agent.session, entryId);
      return mover.fork(id, forkChoice(mover, id, position), position);
    },
    navigateTree: async (targetId, { summarize, customInstructions, replaceInstructions, label }) => {
      const target = resolveEntryId(mover.agent.session, targetId);
      const { status } = await mover.agent.navigate(target, {
        ...(summarize === undefined ? {} : { summarise: summarize }),
        ...(customInstructions === undefined ? {} : { focus: customInstructions }),
        ...(replaceInstructions === undefined ? {} : { replaceInstructions }),
        ...(label === undefined ? {} : { label }),
      });
      return status !== "cancelled";
    },
  };
}

/** A new session, in memory where the one before is. */
export function freshChoice({ workshop, agent }: SessionMover, parentSession?: string): SessionChoice {
  return newSession(placeOf(workshop), agent.session.file !== undefined, parentSession);
}

export function namedChoice({ workshop }: SessionMover, name: string): SessionChoice {
  const session = opened(sessionPath(name, workshop.call.io), workshop.call, placeOf(workshop));
  return { origin: session, reason: "resume", open: () => session };
}

/** A copy up to an entry; "before": of a user's message, up to what stands before it. In memory where the session is. */
export function forkChoice(
  { workshop, agent }: SessionMover,
  entryId: string,
  position: "before" | "at" = "at",
): SessionChoice {
  const { session } = agent;
  const at = position === "at" ? entryId : placeBefore(session, entryId);
  if (session.file !== undefined) return forkedSession(session, at, placeOf(workshop));
  return { origin: session, reason: "fork", open: () => pathInMemory(session, at) };
}

function placeBefore(session: Session, entryId: string): string | null {
  const entry = session.entry(entryId);
  return entry?.type === "message" && entry.message.role === "user" ? entry.parentId : entryId;
}
