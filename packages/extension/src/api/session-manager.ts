import type { Message } from "@bonsai-agent/messages";
import type { Entry, SessionHeader } from "@bonsai-agent/session";

export interface SessionTreeNode {
  entry: Entry;
  children: SessionTreeNode[];
  label?: string;
}

/** The session that is worked in, for reading. */
export interface ReadonlySessionManager {
  getCwd(): string;
  /** The folder of the session's file; the working folder for a session in memory. */
  getSessionDir(): string;
  getSessionId(): string;
  /** Undefined for a session in memory. */
  getSessionFile(): string | undefined;
  getSessionName(): string | undefined;
  getHeader(): SessionHeader;
  getLeafId(): string | null;
  getLeafEntry(): Entry | undefined;
  getEntry(id: string): Entry | undefined;
  getLabel(id: string): string | undefined;
  /** From the root to an entry; default the leaf. */
  getBranch(fromId?: string): Entry[];
  /** All entries of all branches, in file order. */
  getEntries(): Entry[];
  getTree(): SessionTreeNode[];
  /** What the model sees at the leaf. */
  buildSessionContext(): { messages: Message[] };
  /** The entries that what the model sees comes from. */
  buildContextEntries(): Entry[];
}
