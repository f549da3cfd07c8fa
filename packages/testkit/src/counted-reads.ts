import type { SessionStore } from "@bonsai-agent/session";

/** Counts the bytes that are read from a store. */
export function countedReads(inner: SessionStore): { store: SessionStore; read: { bytes: number } } {
  const read = { bytes: 0 };
  const store: SessionStore = {
    file: inner.file,
    readOnly: inner.readOnly,
    size: () => inner.size(),
    read: (target, offset) => {
      const count = inner.read(target, offset);
      read.bytes += count;
      return count;
    },
    append: (text) => inner.append(text),
    flush: () => inner.flush(),
    close: () => inner.close(),
  };
  return { store, read };
}
