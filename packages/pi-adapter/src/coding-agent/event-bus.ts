type Listener = (data: unknown) => void;

/** A bus of one's own; `pi.events` is the one that extensions share. */
export function createEventBus(): {
  emit(channel: string, data: unknown): void;
  on(channel: string, listener: Listener): () => void;
  clear(): void;
} {
  const channels = new Map<string, Set<Listener>>();
  return {
    emit(channel, data) {
      for (const listener of [...(channels.get(channel) ?? [])]) listener(data);
    },
    on(channel, listener) {
      const listeners = channels.get(channel) ?? new Set<Listener>();
      channels.set(channel, listeners.add(listener));
      return () => listeners.delete(listener);
    },
    clear: () => channels.clear(),
  };
}
