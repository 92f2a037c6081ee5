// Browsers start no Worker for a page opened from disk. The site's search then runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.append(this.frame)
      const inside = this.frame.contentWindow
      addEventListener("message", event => {
        if (event.source === inside) {
          const copy = new MessageEvent("message", { data: event.data })
          this.dispatchEvent(copy)
          this.onmessage?.(copy)
        }
      })
      inside.document.open()
      inside.document.write(
        "<script>" +
          'postMessage = data => parent.postMessage(data, "*");' +
          "importScripts = (...urls) => { for (const url of urls) " +
          "document.write(`<script src=\"${url}\"></${'script'}>`) }" +
          `</` + `script><script src="${url}"></` + "script>")
      inside.document.close()
      this.loaded = new Promise(done => { this.frame.onload = done })
    }

    postMessage(data) {
      this.loaded.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data, source: parent })))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
