package profiles
import ("testing";"os";"fmt")
func TestZZ(t *testing.T){
 data,_:=os.ReadFile("../profiles.yaml")
 s,w,err:=Load([]File{Catalogue(data)})
 fmt.Println(w,err)
 if err!=nil {return}
 for _,n:=range s.Names(){ p,_:=s.Resolve(n); fmt.Println("==",n,p.Extends,p.Description); for _,f:=range p.Fields(){fmt.Printf("%s: %s  %v # %s\n",f.Name,f.Text,f.Value,f.Source)}
 for _,m:=range []int64{16<<30,24<<30, 500<<30}{ q:=p.OnHost(m-300<<20,2e9); w,e:=q.Check(); fmt.Println(q.Memory,q.CPUs,w,e)}}
}
