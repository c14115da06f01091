// Search in pages that are opened as files: browsers start no worker there, so its script runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.appendChild(frame)
      const inside = frame.contentWindow
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      const load = source => new Promise((loaded, failed) => {
        const script = inside.document.createElement("script")
        script.src = source
        script.onload = loaded
        script.onerror = failed
        inside.document.body.appendChild(script)
      })
      inside.importScripts = (...sources) => Promise.all(sources.map(source => load(new URL(source, url).href)))
      load(url).then(() => {
        this.deliver = data => inside.dispatchEvent(new MessageEvent("message", { data }))
        this.waiting.splice(0).forEach(this.deliver)
      }, () => this.dispatchEvent(new Event("error")))
    }

    postMessage(data) {
      if (this.deliver) this.deliver(data)
      else this.waiting.push(data)
    }

    terminate() {}
  }
}
