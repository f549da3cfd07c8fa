import { JsonlStore, MemoryStore, type SessionStore } from "@bonsai-agent/session";

/**
 * A new session's file that is made at the second append: the first, its header, waits in memory. Who opens a session
 * and says nothing leaves no file behind.
 */
export class LateFileStore implements SessionStore {
  readonly readOnly = undefined;
  readonly #planned: string;
  /** In memory until there is a file. */
  #store: SessionStore = new MemoryStore();
  #beginning: string | undefined;

  constructor(file: string) {
    this.#planned = file;
  }

  /** Where the file is, or will be. */
  get file(): string {
    return this.#store.file ?? this.#planned;
  }

  size(): number {
    return this.#store.size();
  }

  read(target: Uint8Array, offset: number): number {
    return this.#store.read(target, offset);
  }

  /** @throws BonsaiError as a store does, and at the second append what `JsonlStore.create` throws. */
  append(text: string): number {
    if (this.#store instanceof JsonlStore) return this.#store.append(text);
    if (this.#beginning !== undefined) return this.#make(this.#beginning, text);
    this.#beginning = text;
    return this.#store.append(text);
  }

  flush(): void {
    this.#store.flush();
  }

  isGone(): boolean {
    return this.#store.isGone?.() ?? false;
  }

  restore(sessionId: string): false | "written_anew" | "replaced" {
    return this.#store.restore?.(sessionId) ?? false;
  }

  rewrite(options: { write: (fd: number) => void; replace: boolean }): void {
    this.#store.rewrite?.(options);
  }

  close(): void {
    this.#store.close();
  }

  #make(beginning: string, text: string): number {
    this.#store = JsonlStore.create(this.#planned, beginning + text);
    return Buffer.byteLength(text);
  }
}
