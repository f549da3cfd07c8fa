import { MemoryStore } from "../src/index.ts";

/** A store in memory that counts its calls. */
export class WatchedStore extends MemoryStore {
  flushes = 0;
  appends = 0;
  readBytes = 0;

  override append(text: string): number {
    this.appends += 1;
    return super.append(text);
  }

  override read(target: Uint8Array, offset: number): number {
    const count = super.read(target, offset);
    this.readBytes += count;
    return count;
  }

  override flush(): void {
    this.flushes += 1;
  }
}
