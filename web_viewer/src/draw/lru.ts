/** A map that forgets what was used longest ago once it weighs too much. */
export class Lru<Value> {
  readonly #entries = new Map<string, { value: Value; weight: number }>();
  readonly #budget: number;
  #weight = 0;

  constructor(budget: number) {
    this.#budget = budget;
  }

  get weight(): number {
    return this.#weight;
  }

  get(key: string): Value | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: Value, weight: number): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0;
    this.#entries.delete(key);
    this.#entries.set(key, { value, weight });
    this.#weight += weight;
    for (const [oldest, entry] of this.#entries) {
      if (this.#weight <= this.#budget || oldest === key) break;
      this.#entries.delete(oldest);
      this.#weight -= entry.weight;
    }
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}
